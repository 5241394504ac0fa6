// The arithmetic that the formats assume, whatever the calling thread was set to.
#pragma once

#include <cfenv>

namespace ninforge {

// Rounding to nearest and subnormals kept, for the time of one call: another library in the process may have set
// flush-to-zero or another rounding direction for this thread.
class DefaultFloatEnvironment {
public:
    DefaultFloatEnvironment() {
        std::fegetenv(&saved_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~DefaultFloatEnvironment() { std::fesetenv(&saved_); }
    DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
    DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

private:
    std::fenv_t saved_;
};

}  // namespace ninforge
