#include "direct.h"

#include "encoder.h"

namespace ninforge::encode {
namespace {

// The first place for which `bad` is 1, or `count`: a vector loop over each block, then a look into one that has any.
template <class Bad>
std::size_t find(std::size_t count, Bad bad) {
    constexpr std::size_t kBlock = 4096;
    for (std::size_t start = 0; start < count; start += kBlock) {
        const std::size_t end = count - start < kBlock ? count : start + kBlock;
        u32 any = 0;
        for (std::size_t i = start; i < end; ++i) any |= bad(i);
        if (any == 0) continue;
        std::size_t i = start;
        while (bad(i) == 0) ++i;
        return i;
    }
    return count;
}

template <class Source>
std::optional<Fault> find_non_finite(const u8* bytes, std::size_t count, std::size_t columns) {
    const auto* words = reinterpret_cast<const typename Source::Word*>(bytes);
    const std::size_t i =
        find(count, [words](std::size_t at) -> u32 { return Source::magnitude(words[at]) >= Source::kNonFinite; });
    if (i == count) return std::nullopt;
    return Fault{FaultKind::kNonFinite, i / columns, i % columns, words[i]};
}

}  // namespace

std::optional<Fault> check_finite(const std::uint8_t* words, Dtype dtype, std::size_t count, std::size_t columns) {
    return dtype == Dtype::kBf16 ? find_non_finite<Bf16>(words, count, columns)
                                 : find_non_finite<F32>(words, count, columns);
}

std::optional<Fault> check_positive(const std::uint8_t* bytes, Dtype dtype, std::size_t count, std::size_t columns) {
    // As signed integers, positive finite binary32 words are those from 1 to just below infinity.
    const i32 end = dtype == Dtype::kF32 ? F32::kNonFinite - 1 : 0x7FFFFFFF;
    const auto* words = reinterpret_cast<const Word32*>(bytes);
    const std::size_t i = find(count, [words, end](std::size_t at) -> u32 {
        const i32 value = static_cast<i32>(words[at]);
        return (value < 1) | (value > end);
    });
    if (i == count) return std::nullopt;
    const bool finite = dtype == Dtype::kI32 || F32::magnitude(words[i]) < F32::kNonFinite;
    return Fault{finite ? FaultKind::kNotPositive : FaultKind::kNonFinite, i / columns, i % columns, words[i]};
}

}  // namespace ninforge::encode
