#include "cast.h"

#include "cast_words.h"
#include "vector_kernels.h"

namespace ninforge::encode {

std::optional<Fault> cast(const std::uint8_t* source, Dtype from, DirectFormat to, CastRule rule, std::size_t count,
                          std::uint8_t* out) {
    const VectorKernels* vector = vector_kernels();
    const std::size_t done = (vector ? vector->cast : cast_words)(source, from, to, rule, count, out);
    if (done == count) return std::nullopt;
    return with_conversion(from, to, rule, [&](auto conversion) -> std::optional<Fault> {
        using Conversion = decltype(conversion);
        const auto* words = reinterpret_cast<const typename Conversion::Word*>(source);
        std::size_t i = done;
        while (!Conversion::refuses(words[i])) ++i;
        return Fault{Conversion::why(words[i]), 0, i, words[i]};
    });
}

}  // namespace ninforge::encode
