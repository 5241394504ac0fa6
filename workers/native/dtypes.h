// The source dtypes and direct formats that kernels are told apart by, and the rules of a cast (recipe.md).
#pragma once

#include <cstddef>

namespace ninforge {

enum class Dtype { kBf16, kF16, kF32, kF64, kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64 };

enum class DirectFormat { kBf16, kFp32, kI32 };

enum class CastRule { kExact, kRne, kChecked };

constexpr std::size_t bytes_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::kI8:
        case Dtype::kU8:
            return 1;
        case Dtype::kBf16:
        case Dtype::kF16:
        case Dtype::kI16:
        case Dtype::kU16:
            return 2;
        case Dtype::kF32:
        case Dtype::kI32:
        case Dtype::kU32:
            return 4;
        case Dtype::kF64:
        case Dtype::kI64:
        case Dtype::kU64:
            return 8;
    }
    return 0;
}

constexpr std::size_t bytes_of(DirectFormat format) { return format == DirectFormat::kBf16 ? 2 : 4; }

constexpr bool is_floating(Dtype dtype) {
    return dtype == Dtype::kBf16 || dtype == Dtype::kF16 || dtype == Dtype::kF32 || dtype == Dtype::kF64;
}

// Whether recipe.md has this cast.
constexpr bool cast_exists(Dtype from, DirectFormat to, CastRule rule) {
    switch (rule) {
        case CastRule::kExact:
            switch (to) {
                case DirectFormat::kBf16:
                    return from == Dtype::kF32 || from == Dtype::kF16;
                case DirectFormat::kFp32:
                    return from == Dtype::kBf16 || from == Dtype::kF16;
                case DirectFormat::kI32:
                    return from == Dtype::kI8 || from == Dtype::kI16;
            }
            return false;
        case CastRule::kRne:
            return to == DirectFormat::kBf16 && (from == Dtype::kF32 || from == Dtype::kF16);
        case CastRule::kChecked:
            return to == DirectFormat::kI32 && (is_floating(from) || from == Dtype::kI64 || from == Dtype::kU8 ||
                                                from == Dtype::kU16 || from == Dtype::kU32 || from == Dtype::kU64);
    }
    return false;
}

}  // namespace ninforge
