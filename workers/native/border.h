// Checks of what Python passes in: every refusal is a ValueError that names the argument, the rule and what was found.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "dtypes.h"
#include "instruction_sets.h"

namespace ninforge {

using InputBytes = nanobind::ndarray<const std::uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using OutputBytes = nanobind::ndarray<std::uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

// One argument: its name and its value. Every check returns the value in the form that kernels take.
Dtype dtype_argument(const char* name, const std::string& value, std::initializer_list<Dtype> allowed);
DirectFormat format_argument(const char* name, const std::string& value);
CastRule rule_argument(const char* name, const std::string& value);
InstructionSet instruction_set_argument(const char* name, const std::string& value);
int code_bits_argument(std::int64_t value);
std::size_t word_bytes_argument(std::int64_t value);

// An extent of at least 1 and at most 2^40, a multiple of `multiple`: sizes made of it stay far below 2^64.
std::size_t extent_argument(const char* name, std::int64_t value, std::int64_t multiple = 1);

// Rows of `row_bytes` bytes in a buffer that has at least one; their number is a multiple of `multiple`.
std::size_t count_rows(const char* name, std::size_t bytes, std::size_t row_bytes, std::size_t multiple = 1);

// A buffer of exactly this size.
void require_size(const char* name, std::size_t bytes, std::size_t expected);

// A cast that recipe.md has.
void require_cast(Dtype from, DirectFormat to, CastRule rule);

}  // namespace ninforge
