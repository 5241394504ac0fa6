// workers._native: checks arguments at the border, then runs one kernel without the GIL (workers/_native.pyi).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "border.h"
#include "dtypes.h"
#include "encode/cast.h"
#include "encode/direct.h"
#include "encode/fp8_row.h"
#include "encode/grouped.h"
#include "encode/swizzle.h"
#include "findings.h"
#include "float_environment.h"
#include "instruction_sets.h"
#include "row_split.h"
#include "verify/cast.h"
#include "verify/copies.h"
#include "verify/fp8_row.h"
#include "verify/grouped.h"
#include "verify/histogram.h"
#include "verify/legal.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace ninforge {
namespace {

constexpr std::array<const char*, 16> kFaultNames{
    "non-finite",     "scale-overflow",      "row-too-small",     "negative-scale",
    "negative-zero-scale", "nan-scale",      "infinite-scale",    "code-under-zero-scale",
    "code-out-of-range",   "nan-code",       "nonzero-padding",   "not-exact",
    "out-of-range",   "fractional",          "overflow",          "not-positive",
};

constexpr std::array<const char*, 4> kPlaneNames{"codes", "high", "scales", "words"};

const char* name_of(FaultKind kind) { return kFaultNames[static_cast<std::size_t>(kind)]; }
const char* name_of(PlaneName plane) { return kPlaneNames[static_cast<std::size_t>(plane)]; }

// Runs a kernel without the GIL, in the float environment that the formats assume.
template <class Kernel>
auto run(Kernel kernel) {
    const nb::gil_scoped_release release;
    const DefaultFloatEnvironment environment;
    return kernel();
}

Dtype encodable(const std::string& dtype) {
    return dtype_argument("dtype", dtype, {Dtype::kBf16, Dtype::kF16, Dtype::kF32});
}

// The rows of a grouped block, once its planes have been found to have their sizes.
template <class Bytes>
std::size_t grouped_rows(const InputBytes& source, Dtype dtype, const RowSplit& split, std::size_t k,
                         const Bytes& codes, const Bytes& high, const Bytes& scales) {
    const std::size_t rows = count_rows("source", source.nbytes(), k * bytes_of(dtype));
    require_size("codes", codes.nbytes(), rows * split.code_row());
    require_size("high", high.nbytes(), rows * split.high_row());
    require_size("scales", scales.nbytes(), rows * split.scale_row());
    return rows;
}

template <class Bytes>
std::size_t fp8_rows(const InputBytes& source, Dtype dtype, std::size_t k, const Bytes& codes, const Bytes& scales) {
    const std::size_t rows = count_rows("source", source.nbytes(), k * bytes_of(dtype));
    require_size("codes", codes.nbytes(), rows * k);
    require_size("scales", scales.nbytes(), rows * 2);
    return rows;
}

std::optional<Fault> encode_grouped(const InputBytes& source, const std::string& dtype_name, std::int64_t bits,
                                    std::int64_t columns, const OutputBytes& codes, const OutputBytes& high,
                                    const OutputBytes& scales) {
    const Dtype dtype = encodable(dtype_name);
    const int code_bits = code_bits_argument(bits);
    const std::size_t k = extent_argument("k", columns);
    const std::size_t rows = grouped_rows(source, dtype, RowSplit::of(code_bits, k), k, codes, high, scales);
    return run([&] {
        return encode::encode_grouped(source.data(), dtype, code_bits, rows, k,
                                      {codes.data(), high.data(), scales.data()});
    });
}

std::optional<Fault> encode_fp8_row(const InputBytes& source, const std::string& dtype_name, std::int64_t columns,
                                    const OutputBytes& codes, const OutputBytes& scales) {
    const Dtype dtype = encodable(dtype_name);
    const std::size_t k = extent_argument("k", columns);
    const std::size_t rows = fp8_rows(source, dtype, k, codes, scales);
    return run([&] { return encode::encode_fp8_row(source.data(), dtype, rows, k, codes.data(), scales.data()); });
}

void swizzle_scales(const InputBytes& scales, std::int64_t columns, const OutputBytes& out) {
    const std::size_t k = extent_argument("k", columns, 64);
    const std::size_t rows = count_rows("scales", scales.nbytes(), k / 16, 128);
    require_size("out", out.nbytes(), scales.nbytes());
    run([&] { encode::swizzle_scales(scales.data(), rows, k, out.data()); });
}

struct CastArguments {
    Dtype from;
    DirectFormat to;
    CastRule rule;
    std::size_t count;
};

CastArguments cast_arguments(const InputBytes& source, const std::string& from_name, const std::string& to_name,
                             const std::string& rule_name, std::size_t out_bytes) {
    const Dtype from = dtype_argument("from_dtype", from_name,
                                      {Dtype::kBf16, Dtype::kF16, Dtype::kF32, Dtype::kF64, Dtype::kI8, Dtype::kI16,
                                       Dtype::kI64, Dtype::kU8, Dtype::kU16, Dtype::kU32, Dtype::kU64});
    const DirectFormat to = format_argument("to", to_name);
    const CastRule rule = rule_argument("rule", rule_name);
    require_cast(from, to, rule);
    const std::size_t count = count_rows("source", source.nbytes(), bytes_of(from));
    require_size("out", out_bytes, count * bytes_of(to));
    return {from, to, rule, count};
}

std::optional<Fault> cast(const InputBytes& source, const std::string& from_dtype, const std::string& to,
                          const std::string& rule, const OutputBytes& out) {
    const CastArguments of = cast_arguments(source, from_dtype, to, rule, out.nbytes());
    return run([&] { return encode::cast(source.data(), of.from, of.to, of.rule, of.count, out.data()); });
}

std::optional<Fault> check_finite(const InputBytes& words, const std::string& dtype_name, std::int64_t columns) {
    const Dtype dtype = dtype_argument("dtype", dtype_name, {Dtype::kBf16, Dtype::kF32});
    const std::size_t width = extent_argument("columns", columns);
    const std::size_t rows = count_rows("words", words.nbytes(), width * bytes_of(dtype));
    return run([&] { return encode::check_finite(words.data(), dtype, rows * width, width); });
}

std::optional<Fault> check_positive(const InputBytes& words, const std::string& dtype_name, std::int64_t columns) {
    const Dtype dtype = dtype_argument("dtype", dtype_name, {Dtype::kF32, Dtype::kI32});
    const std::size_t width = extent_argument("columns", columns);
    const std::size_t rows = count_rows("words", words.nbytes(), width * bytes_of(dtype));
    return run([&] { return encode::check_positive(words.data(), dtype, rows * width, width); });
}

// The rows of grouped planes, once these have been found to have the sizes of as many.
std::size_t split_rows(const RowSplit& split, const InputBytes& codes, const InputBytes& high,
                       const InputBytes& scales) {
    const std::size_t rows = count_rows("codes", codes.nbytes(), split.code_row());
    require_size("high", high.nbytes(), rows * split.high_row());
    require_size("scales", scales.nbytes(), rows * split.scale_row());
    return rows;
}

std::optional<Fault> legal_grouped(std::int64_t bits, std::int64_t columns, const InputBytes& codes,
                                   const InputBytes& high, const InputBytes& scales) {
    const int code_bits = code_bits_argument(bits);
    const std::size_t k = extent_argument("k", columns);
    const std::size_t rows = split_rows(RowSplit::of(code_bits, k), codes, high, scales);
    return run([&] {
        return verify::legal_grouped(code_bits, rows, k, {codes.data(), high.data(), scales.data()});
    });
}

std::optional<Fault> legal_fp8_row(std::int64_t columns, const InputBytes& codes, const InputBytes& scales) {
    const std::size_t k = extent_argument("k", columns);
    const std::size_t rows = count_rows("codes", codes.nbytes(), k);
    require_size("scales", scales.nbytes(), rows * 2);
    return run([&] { return verify::legal_fp8_row(rows, k, codes.data(), scales.data()); });
}

std::optional<Fault> legal_nvfp4_scales(const InputBytes& scales, std::int64_t columns, bool swizzled) {
    const std::size_t k = extent_argument("k", columns, 64);
    const std::size_t rows = count_rows("scales", scales.nbytes(), k / 16, swizzled ? 128 : 1);
    return run([&] { return verify::legal_nvfp4_scales(scales.data(), rows, k, swizzled); });
}

Derivation derive_grouped(const InputBytes& source, const std::string& dtype_name, std::int64_t bits,
                          std::int64_t columns, const InputBytes& codes, const InputBytes& high,
                          const InputBytes& scales, bool statistics) {
    const Dtype dtype = encodable(dtype_name);
    const int code_bits = code_bits_argument(bits);
    const std::size_t k = extent_argument("k", columns);
    const std::size_t rows = grouped_rows(source, dtype, RowSplit::of(code_bits, k), k, codes, high, scales);
    return run([&] {
        return verify::derive_grouped(source.data(), dtype, code_bits, rows, k,
                                      {codes.data(), high.data(), scales.data()}, statistics);
    });
}

Derivation derive_fp8_row(const InputBytes& source, const std::string& dtype_name, std::int64_t columns,
                          const InputBytes& codes, const InputBytes& scales, bool statistics) {
    const Dtype dtype = encodable(dtype_name);
    const std::size_t k = extent_argument("k", columns);
    const std::size_t rows = fp8_rows(source, dtype, k, codes, scales);
    return run([&] {
        return verify::derive_fp8_row(source.data(), dtype, rows, k, codes.data(), scales.data(), statistics);
    });
}

std::optional<Fault> derive_cast(const InputBytes& source, const std::string& from_dtype, const std::string& to,
                                 const std::string& rule, const OutputBytes& out) {
    const CastArguments of = cast_arguments(source, from_dtype, to, rule, out.nbytes());
    return run([&] { return verify::derive_cast(source.data(), of.from, of.to, of.rule, of.count, out.data()); });
}

std::optional<Mismatch> compare_swizzled(const InputBytes& natural_scales, std::int64_t columns,
                                         const InputBytes& stored) {
    const std::size_t k = extent_argument("k", columns, 64);
    const std::size_t rows = count_rows("natural_scales", natural_scales.nbytes(), k / 16, 128);
    require_size("stored", stored.nbytes(), natural_scales.nbytes());
    return run([&] { return verify::compare_swizzled(natural_scales.data(), rows, k, stored.data()); });
}

std::optional<Mismatch> compare_words(const InputBytes& expected, const InputBytes& found, std::int64_t word_bytes,
                                      std::int64_t columns) {
    const std::size_t width = word_bytes_argument(word_bytes);
    const std::size_t row = extent_argument("columns", columns);
    count_rows("expected", expected.nbytes(), row * width);
    require_size("found", found.nbytes(), expected.nbytes());
    return run([&] { return verify::compare_words(expected.data(), found.data(), expected.nbytes(), width, row); });
}

using verify::Histogram;

Histogram histogram_grouped(std::int64_t bits, std::int64_t columns, const InputBytes& codes, const InputBytes& high,
                            const InputBytes& scales) {
    const int code_bits = code_bits_argument(bits);
    const std::size_t k = extent_argument("k", columns);
    const std::size_t rows = split_rows(RowSplit::of(code_bits, k), codes, high, scales);
    return run([&] {
        return verify::histogram_grouped(code_bits, rows, k, {codes.data(), high.data(), scales.data()});
    });
}

Histogram histogram_fp8_row(std::int64_t columns, const InputBytes& codes, const InputBytes& scales) {
    const std::size_t k = extent_argument("k", columns);
    const std::size_t rows = count_rows("codes", codes.nbytes(), k);
    require_size("scales", scales.nbytes(), rows * 2);
    return run([&] { return verify::histogram_fp8_row(rows, k, codes.data(), scales.data()); });
}

Histogram histogram_nvfp4(std::int64_t columns, const InputBytes& codes, const InputBytes& scales) {
    const std::size_t k = extent_argument("k", columns, 64);
    const std::size_t rows = count_rows("codes", codes.nbytes(), k / 2);
    require_size("scales", scales.nbytes(), rows * k / 16);
    return run([&] { return verify::histogram_nvfp4(rows, k, codes.data(), scales.data()); });
}

std::map<std::string, bool> instruction_sets() {
    std::map<std::string, bool> sets;
    for (const auto& [name, set] : kInstructionSets)
        if (is_compiled(set)) sets[name] = runs_here(set);
    return sets;
}

std::string instruction_set_in_use() { return kInstructionSets[static_cast<std::size_t>(instruction_set())].first; }

void use_instruction_set(const std::string& name) { choose(instruction_set_argument("name", name)); }

std::string describe(const Fault& fault) {
    return "Fault(kind='" + std::string(name_of(fault.kind)) + "', row=" + std::to_string(fault.row) +
           ", column=" + std::to_string(fault.column) + ", word=" + std::to_string(fault.word) + ")";
}

std::string describe(const Mismatch& mismatch) {
    return "Mismatch(plane='" + std::string(name_of(mismatch.plane)) + "', row=" + std::to_string(mismatch.row) +
           ", column=" + std::to_string(mismatch.column) + ", expected=" + std::to_string(mismatch.expected) +
           ", found=" + std::to_string(mismatch.found) + ")";
}

// A view of numbers that their owner keeps alive.
template <class Owner, class Number>
nb::ndarray<nb::numpy, const Number, nb::ndim<1>> view_of(const Owner& owner, const std::vector<Number>& numbers) {
    return {numbers.data(), {numbers.size()}, nb::find(owner)};
}

}  // namespace
}  // namespace ninforge

NB_MODULE(_native, module) {
    using namespace ninforge;

    nb::class_<Fault>(module, "Fault")
        .def_prop_ro("kind", [](const Fault& fault) { return name_of(fault.kind); })
        .def_ro("row", &Fault::row)
        .def_ro("column", &Fault::column)
        .def_ro("word", &Fault::word)
        .def("__repr__", [](const Fault& fault) { return describe(fault); });

    nb::class_<Mismatch>(module, "Mismatch")
        .def_prop_ro("plane", [](const Mismatch& mismatch) { return name_of(mismatch.plane); })
        .def_ro("row", &Mismatch::row)
        .def_ro("column", &Mismatch::column)
        .def_ro("expected", &Mismatch::expected)
        .def_ro("found", &Mismatch::found)
        .def("__repr__", [](const Mismatch& mismatch) { return describe(mismatch); });

    nb::class_<Derivation>(module, "Derivation")
        .def_ro("mismatch", &Derivation::mismatch)
        .def_ro("fault", &Derivation::fault)
        .def_ro("max_abs", &Derivation::max_abs)
        .def_prop_ro("row_error", [](const Derivation& of) { return view_of(of, of.row_error); })
        .def_prop_ro("row_signal", [](const Derivation& of) { return view_of(of, of.row_signal); });

    nb::class_<Histogram>(module, "Histogram")
        .def_prop_ro("codes", [](const Histogram& of) { return view_of(of, of.codes); })
        .def_prop_ro("scales", [](const Histogram& of) { return view_of(of, of.scales); })
        .def_ro("zero_scales", &Histogram::zero_scales);

    const auto bytes = [](const char* name) { return nb::arg(name).noconvert(); };

    module.def("encode_grouped", &ninforge::encode_grouped, bytes("source"), "dtype"_a, "code_bits"_a, "k"_a,
               bytes("codes"), bytes("high"), bytes("scales"));
    module.def("encode_fp8_row", &ninforge::encode_fp8_row, bytes("source"), "dtype"_a, "k"_a, bytes("codes"),
               bytes("scales"));
    module.def("swizzle_scales", &ninforge::swizzle_scales, bytes("scales"), "k"_a, bytes("out"));
    module.def("cast", &ninforge::cast, bytes("source"), "from_dtype"_a, "to"_a, "rule"_a, bytes("out"));
    module.def("check_finite", &ninforge::check_finite, bytes("words"), "dtype"_a, "columns"_a);
    module.def("check_positive", &ninforge::check_positive, bytes("words"), "dtype"_a, "columns"_a);
    module.def("legal_grouped", &ninforge::legal_grouped, "code_bits"_a, "k"_a, bytes("codes"), bytes("high"),
               bytes("scales"));
    module.def("legal_fp8_row", &ninforge::legal_fp8_row, "k"_a, bytes("codes"), bytes("scales"));
    module.def("legal_nvfp4_scales", &ninforge::legal_nvfp4_scales, bytes("scales"), "k"_a, "swizzled"_a);
    module.def("derive_grouped", &ninforge::derive_grouped, bytes("source"), "dtype"_a, "code_bits"_a, "k"_a,
               bytes("codes"), bytes("high"), bytes("scales"), "statistics"_a);
    module.def("derive_fp8_row", &ninforge::derive_fp8_row, bytes("source"), "dtype"_a, "k"_a, bytes("codes"),
               bytes("scales"), "statistics"_a);
    module.def("histogram_grouped", &ninforge::histogram_grouped, "code_bits"_a, "k"_a, bytes("codes"), bytes("high"),
               bytes("scales"));
    module.def("histogram_fp8_row", &ninforge::histogram_fp8_row, "k"_a, bytes("codes"), bytes("scales"));
    module.def("histogram_nvfp4", &ninforge::histogram_nvfp4, "k"_a, bytes("codes"), bytes("scales"));
    module.def("derive_cast", &ninforge::derive_cast, bytes("source"), "from_dtype"_a, "to"_a, "rule"_a,
               bytes("out"));
    module.def("compare_swizzled", &ninforge::compare_swizzled, bytes("natural_scales"), "k"_a, bytes("stored"));
    module.def("compare_words", &ninforge::compare_words, bytes("expected"), bytes("found"), "word_bytes"_a,
               "columns"_a);
    module.def("instruction_sets", &ninforge::instruction_sets);
    module.def("instruction_set", &ninforge::instruction_set_in_use);
    module.def("use_instruction_set", &ninforge::use_instruction_set, "name"_a);
    module.def("build_flags", [] { return NINFORGE_BUILD_FLAGS; });
}
