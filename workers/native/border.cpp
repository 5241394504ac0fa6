#include "border.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ninforge {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;

constexpr std::array<std::pair<const char*, Dtype>, 12> kDtypes{{
    {"BF16", Dtype::kBf16},
    {"F16", Dtype::kF16},
    {"F32", Dtype::kF32},
    {"F64", Dtype::kF64},
    {"I8", Dtype::kI8},
    {"I16", Dtype::kI16},
    {"I32", Dtype::kI32},
    {"I64", Dtype::kI64},
    {"U8", Dtype::kU8},
    {"U16", Dtype::kU16},
    {"U32", Dtype::kU32},
    {"U64", Dtype::kU64},
}};

constexpr std::array<std::pair<const char*, DirectFormat>, 3> kFormats{{
    {"BF16", DirectFormat::kBf16},
    {"FP32", DirectFormat::kFp32},
    {"I32", DirectFormat::kI32},
}};

constexpr std::array<std::pair<const char*, CastRule>, 3> kRules{{
    {"exact", CastRule::kExact},
    {"rne", CastRule::kRne},
    {"checked", CastRule::kChecked},
}};

[[noreturn]] void refuse(const std::string& argument, const std::string& expected, const std::string& found) {
    throw nanobind::value_error((argument + ": expected " + expected + ", found " + found).c_str());
}

// The member of a closed set that has this name and is allowed here.
template <class Set, class Allowed>
auto look_up(const char* argument, const std::string& value, const Set& set, Allowed allowed) {
    std::string names;
    for (const auto& [name, member] : set) {
        if (!allowed(member)) continue;
        if (value == name) return member;
        names += (names.empty() ? "" : ", ") + std::string(name);
    }
    refuse(argument, "one of " + names, "'" + value + "'");
}

template <class Set, class Member>
std::string name_of(const Set& set, Member member) {
    return std::find_if(set.begin(), set.end(), [member](const auto& row) { return row.second == member; })->first;
}

}  // namespace

Dtype dtype_argument(const char* name, const std::string& value, std::initializer_list<Dtype> allowed) {
    return look_up(name, value, kDtypes, [allowed](Dtype dtype) {
        return std::find(allowed.begin(), allowed.end(), dtype) != allowed.end();
    });
}

DirectFormat format_argument(const char* name, const std::string& value) {
    return look_up(name, value, kFormats, [](DirectFormat) { return true; });
}

CastRule rule_argument(const char* name, const std::string& value) {
    return look_up(name, value, kRules, [](CastRule) { return true; });
}

InstructionSet instruction_set_argument(const char* name, const std::string& value) {
    return look_up(name, value, kInstructionSets, runs_here);
}

int code_bits_argument(std::int64_t value) {
    if (value != 4 && value != 5 && value != 6 && value != 8)
        refuse("code_bits", "4, 5, 6 or 8", std::to_string(value));
    return static_cast<int>(value);
}

std::size_t word_bytes_argument(std::int64_t value) {
    if (value != 1 && value != 2 && value != 4 && value != 8)
        refuse("word_bytes", "1, 2, 4 or 8", std::to_string(value));
    return static_cast<std::size_t>(value);
}

std::size_t extent_argument(const char* name, std::int64_t value, std::int64_t multiple) {
    if (value < 1 || value > kMaxExtent) refuse(name, "1 to " + std::to_string(kMaxExtent), std::to_string(value));
    if (value % multiple != 0) refuse(name, "a multiple of " + std::to_string(multiple), std::to_string(value));
    return static_cast<std::size_t>(value);
}

std::size_t count_rows(const char* name, std::size_t bytes, std::size_t row_bytes, std::size_t multiple) {
    const std::size_t unit = row_bytes * multiple;
    if (bytes == 0 || bytes % unit != 0)
        refuse(name, "one or more times " + std::to_string(unit) + " bytes", std::to_string(bytes));
    return bytes / row_bytes;
}

void require_size(const char* name, std::size_t bytes, std::size_t expected) {
    if (bytes != expected) refuse(name, std::to_string(expected) + " bytes", std::to_string(bytes));
}

void require_cast(Dtype from, DirectFormat to, CastRule rule) {
    if (cast_exists(from, to, rule)) return;
    refuse("rule", "a cast of recipe.md",
           name_of(kDtypes, from) + " to " + name_of(kFormats, to) + " by " + name_of(kRules, rule));
}

}  // namespace ninforge
