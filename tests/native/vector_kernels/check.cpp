// Holds the vector kernels of one instruction set to cases of the oracle, without Python: check INSTRUCTION_SET FILE.
//
// A case is five 32-bit numbers (dtype as in dtypes.h, code bits or 0 for row FP8, rows, k, rows before the first that the
// profile refuses), then the source words, then the planes: codes, high, scales.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "dtypes.h"
#include "encode/vector_kernels.h"
#include "instruction_sets.h"
#include "row_split.h"
#include "verify/fp8_row.h"
#include "verify/grouped.h"
#include "verify/vector_kernels.h"

using namespace ninforge;

namespace {

using Bytes = std::vector<std::uint8_t>;

struct Planes {
    Bytes codes, high, scales;

    bool operator==(const Planes& other) const {
        return codes == other.codes && high == other.high && scales == other.scales;
    }
};

struct Case {
    Dtype dtype;
    int code_bits;
    std::size_t rows, k, encodable;
    Bytes source;
    Planes planes;

    std::size_t encode(Planes& to) const {
        const auto* kernels = encode::vector_kernels();
        if (code_bits == 0) return kernels->fp8_row(source.data(), dtype, rows, k, to.codes.data(), to.scales.data());
        return kernels->grouped(source.data(), dtype, code_bits, rows, k,
                                {to.codes.data(), to.high.data(), to.scales.data()});
    }

    std::size_t confirm(const Planes& of, verify::ErrorSums* sums) const {
        const auto* kernels = verify::vector_kernels();
        if (code_bits == 0)
            return kernels->fp8_row(source.data(), dtype, rows, k, of.codes.data(), of.scales.data(), sums);
        return kernels->grouped(source.data(), dtype, code_bits, rows, k,
                                {of.codes.data(), of.high.data(), of.scales.data()}, sums);
    }

    Derivation derive() const {
        if (code_bits == 0)
            return verify::derive_fp8_row(source.data(), dtype, rows, k, planes.codes.data(), planes.scales.data(), true);
        return verify::derive_grouped(source.data(), dtype, code_bits, rows, k,
                                      {planes.codes.data(), planes.high.data(), planes.scales.data()}, true);
    }
};

class Reader {
public:
    explicit Reader(const char* file) {
        std::ifstream stream(file, std::ios::binary);
        data_.assign(std::istreambuf_iterator<char>(stream), {});
    }

    bool ended() const { return at_ == data_.size(); }

    Case next() {
        std::uint32_t head[5];
        std::memcpy(head, take(sizeof(head)).data(), sizeof(head));
        Case of{static_cast<Dtype>(head[0]), static_cast<int>(head[1]), head[2], head[3], head[4], {}, {}};
        of.source = take(of.rows * of.k * bytes_of(of.dtype));
        const RowSplit split = RowSplit::of(of.code_bits, of.k);
        of.planes.codes = take(of.code_bits == 0 ? of.rows * of.k : of.rows * split.code_row());
        of.planes.high = take(of.code_bits == 0 ? 0 : of.rows * split.high_row());
        of.planes.scales = take(of.code_bits == 0 ? of.rows * 2 : of.rows * split.scale_row());
        return of;
    }

private:
    Bytes take(std::size_t size) {
        if (data_.size() - at_ < size) std::abort();
        const Bytes taken(data_.begin() + static_cast<std::ptrdiff_t>(at_),
                          data_.begin() + static_cast<std::ptrdiff_t>(at_ + size));
        at_ += size;
        return taken;
    }

    std::vector<char> data_;
    std::size_t at_ = 0;
};

bool encodes(const Case& of) {
    Planes made{Bytes(of.planes.codes.size(), 0xA5), Bytes(of.planes.high.size(), 0xA5),
                Bytes(of.planes.scales.size(), 0xA5)};
    return of.encode(made) == of.encodable && (of.encodable < of.rows || made == of.planes);
}

// The kernels confirm as many rows as the profile gives, and add up what the portable derivation does, bit for bit.
bool confirms(const Case& of, InstructionSet set) {
    std::vector<double> error(of.rows), signal(of.rows);
    verify::ErrorSums sums{error.data(), signal.data(), 0.0};
    if (of.confirm(of.planes, nullptr) != of.encodable || of.confirm(of.planes, &sums) != of.encodable) return false;
    if (of.encodable < of.rows) return true;
    choose(InstructionSet::kPortable);
    const Derivation portable = of.derive();
    choose(set);
    return std::memcmp(error.data(), portable.row_error.data(), of.rows * sizeof(double)) == 0 &&
           std::memcmp(signal.data(), portable.row_signal.data(), of.rows * sizeof(double)) == 0 &&
           sums.max_abs == portable.max_abs;
}

// No plane with one bit changed is confirmed whole; bits are taken in strides.
bool finds_changed_bits(const Case& of) {
    if (of.encodable < of.rows) return true;
    Planes changed = of.planes;
    for (Bytes* plane : {&changed.codes, &changed.high, &changed.scales}) {
        const std::size_t bits = 8 * plane->size(), stride = bits / 64 + 1;
        for (std::size_t bit = 0; bit < bits; bit += stride) {
            std::uint8_t& byte = (*plane)[bit / 8];
            const auto flipped = static_cast<std::uint8_t>(1 << bit % 8);
            byte ^= flipped;
            if (of.confirm(changed, nullptr) == of.rows) return false;
            byte ^= flipped;
        }
    }
    return true;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return 2;
    for (const auto& [name, set] : kInstructionSets) {
        if (std::strcmp(name, arguments[1]) != 0) continue;
        if (!runs_here(set)) return 3;
        choose(set);
        Reader reader(arguments[2]);
        std::size_t cases = 0;
        for (; !reader.ended(); ++cases) {
            const Case of = reader.next();
            const char* wrong = !encodes(of)             ? "encoder"
                                : !confirms(of, set)     ? "verifier"
                                : !finds_changed_bits(of) ? "verifier, changed bits"
                                                          : nullptr;
            if (wrong == nullptr) continue;
            std::printf("case %zu: %s\n", cases, wrong);
            return 1;
        }
        std::printf("%zu cases\n", cases);
        return 0;
    }
    return 2;
}
