// SPDX-License-Identifier: Apache-2.0
// Are NumPy's files read as NumPy writes them, and is every other file refused with a remedy?
#include "sw/runtime/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "tests/unit/common/temporary_directory.h"
#include "tlm/common/error.h"
#include "tlm/common/output_file.h"

namespace azulejo {
namespace {

// A file of the given version with `header` as its dictionary.
std::string npy(int major, const std::string& header, const std::string& data) {
  std::string bytes("\x93NUMPY", 6);
  bytes += static_cast<char>(major);
  bytes += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return bytes + header + data;
}

std::string error_of(const std::string& bytes) {
  try {
    parse_npy(bytes, "a.npy");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

std::string error_of_header(const std::string& header, std::size_t data = 24) {
  return error_of(npy(1, header, std::string(data, 'x')));
}

const std::string kHeader = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

TEST(Npy, ReadsTheBytesThatNumpyWrites) {
  // numpy.save of numpy.array([[1, 2, 3], [4, 5, 6]], dtype='<f4'), NumPy 1.24.
  const std::string header = kHeader + std::string(58, ' ') + "\n";
  ASSERT_EQ(header.size(), 118U);
  const float values[] = {1, 2, 3, 4, 5, 6};
  std::string data(sizeof values, '\0');
  std::memcpy(data.data(), values, sizeof values);
  const NpyMatrix matrix = parse_npy(npy(1, header, data), "a.npy");
  EXPECT_EQ(matrix.rows, 2U);
  EXPECT_EQ(matrix.cols, 3U);
  EXPECT_EQ(matrix.format, Format::Fp32);
  EXPECT_EQ(std::memcmp(matrix.data.data(), values, sizeof values), 0);
  EXPECT_EQ(npy_bytes(matrix), npy(1, header, data)) << "and writes the same";
}

TEST(Npy, ReadsEveryVersionAndSpelling) {
  for (const int major : {1, 2, 3}) {
    EXPECT_EQ(parse_npy(npy(major, kHeader, std::string(24, 'x')), "a.npy").data, std::vector<std::uint8_t>(24, 'x'));
  }
  for (const std::string header : {"{\"shape\":(2,3),\"descr\":\"<f4\",\"fortran_order\":False}\n",
                                   "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }   \n"}) {
    EXPECT_EQ(error_of_header(header), "");
  }
  EXPECT_EQ(
      parse_npy(npy(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (3, 4)}", std::string(24, 0)), "").format,
      Format::Fp16);
}

TEST(Npy, WrittenFilesReadBack) {
  const test::TemporaryDirectory directory;
  for (const Format format : {Format::Fp32, Format::Fp16}) {
    for (const std::uint64_t rows : {1ULL, 3ULL, 1000ULL}) {
      NpyMatrix matrix{rows, 7, format, {}};
      for (std::uint64_t i = 0; i < rows * 7 * (format == Format::Fp32 ? 4 : 2); ++i) {
        matrix.data.push_back(static_cast<std::uint8_t>(i * 37));
      }
      write_npy(directory.file("m.npy"), matrix);
      const NpyMatrix again = read_npy(directory.file("m.npy"));
      EXPECT_EQ(again.rows, rows);
      EXPECT_EQ(again.cols, 7U);
      EXPECT_EQ(again.format, format);
      EXPECT_EQ(again.data, matrix.data);
      EXPECT_EQ((std::filesystem::file_size(directory.file("m.npy")) - matrix.data.size()) % 64, 0U);
    }
  }
}

TEST(Npy, TruncatedFilesSayWhatIsMissing) {
  EXPECT_EQ(error_of_header(kHeader, 23),
            "a.npy: is truncated: shape (2, 3) needs 24 bytes of data, the file has 23; save "
            "the array again");
  EXPECT_EQ(error_of_header(kHeader, 25),
            "a.npy: is too long: shape (2, 3) needs 24 bytes of data, the file has 25; save "
            "the array again");
  EXPECT_EQ(error_of(npy(1, kHeader, "").substr(0, 20)),
            "a.npy: is truncated: the header needs 69 bytes, the file has 20");
  EXPECT_NE(error_of(npy(2, kHeader, "").substr(0, 11)).find("is truncated"), std::string::npos);
  EXPECT_NE(error_of(npy(1, kHeader, "").substr(0, 9)).find("is no .npy file"), std::string::npos);
}

TEST(Npy, HugeShapesAreRefusedWithoutAllocating) {
  EXPECT_NE(error_of_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 1000000000)}")
                .find("needs 4000000000000000000 bytes of data, the file has 24"),
            std::string::npos);
  EXPECT_NE(
      error_of_header("{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551615, 18446744073709551615)}")
          .find("needs more than 2^64 bytes"),
      std::string::npos);
  EXPECT_NE(error_of_header("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387910, 1)}")
                .find("needs more than 2^64 bytes"),
            std::string::npos);
  EXPECT_NE(
      error_of_header("{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616, 1)}").find("2^64"),
      std::string::npos);
  std::string huge_header("\x93NUMPY\2\0\xFF\xFF\xFF\xFF", 12);
  EXPECT_NE(error_of(huge_header).find("the header needs 4294967307 bytes"), std::string::npos);
  EXPECT_NE(error_of(npy(2, std::string(70'000, ' '), "")).find("has a header of 70000 bytes; at most 65536"),
            std::string::npos);
}

TEST(Npy, OtherElementsNameTheRemedy) {
  EXPECT_EQ(error_of_header("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}"),
            "a.npy: has big-endian elements '>f4'; allowed: '<f4' (float32) and '<f2' (float16); convert with "
            "a.astype('<f4')");
  EXPECT_NE(error_of_header("{'descr': '>f2', 'fortran_order': False, 'shape': (2, 3)}").find("a.astype('<f2')"),
            std::string::npos);
  EXPECT_EQ(error_of_header("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}"),
            "a.npy: has elements of type '<f8'; allowed: '<f4' (float32) and '<f2' (float16); convert with "
            "a.astype('<f4')");
  EXPECT_NE(error_of_header("{'descr': [('a', '<f4'), ('b', '<f4', [2])], 'fortran_order': False, 'shape': (2, 3)}")
                .find("has structured elements"),
            std::string::npos);
}

TEST(Npy, OtherShapesAndOrdersNameTheRemedy) {
  EXPECT_EQ(error_of_header("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}"),
            "a.npy: is in Fortran order; convert with np.ascontiguousarray(a)");
  EXPECT_EQ(error_of_header("{'descr': '<f4', 'fortran_order': False, 'shape': (6,)}"),
            "a.npy: has shape (6); two dimensions are expected; use a.reshape(rows, cols)");
  EXPECT_NE(error_of_header("{'descr': '<f4', 'fortran_order': False, 'shape': ()}").find("has shape ()"),
            std::string::npos);
  EXPECT_NE(error_of_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3)}").find("two dimensions"),
            std::string::npos);
  EXPECT_EQ(error_of_header("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3)}", 0),
            "a.npy: has shape (0, 3); no dimension may be 0");
}

TEST(Npy, DamagedHeadersSayWhere) {
  EXPECT_EQ(error_of("not an array"), "a.npy: is no .npy file; write one with numpy.save");
  EXPECT_EQ(error_of(""), "a.npy: is no .npy file; write one with numpy.save");
  EXPECT_EQ(error_of(npy(4, kHeader, "")), "a.npy: has .npy version 4.0; 1.0, 2.0 and 3.0 are known");
  EXPECT_EQ(error_of_header("garbage"),
            "a.npy: the header is damaged: no '{' at character 0; save the array again with numpy.save");
  EXPECT_EQ(error_of_header("{'descr': '<f4'}"), "a.npy: the header lacks 'fortran_order' or 'shape'");
  EXPECT_EQ(error_of_header("{}"), "a.npy: the header has no 'descr'");
  for (const char* header : {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", "{'descr'", "{'descr': ",
                             "{descr: '<f4'}", "{'descr': '<f4}", "{'descr': [('a', '<f4')", "{'fortran_order': Maybe}",
                             "{'shape': (2 3)}", "{'shape': 6}", "{'shape': (-1, 3)}", "{'shape': (2.0, 3)}",
                             "{'color': 'red'}", "{'shape': (2, 3)} more", "{'shape': (2, 3", "{,}", ""}) {
    EXPECT_NE(error_of_header(header).find("the header is damaged"), std::string::npos) << header;
  }
}

TEST(Npy, FilesThatCannotBeReadAreNamed) {
  const test::TemporaryDirectory directory;
  const auto error_of_file = [](const std::string& path) -> std::string {
    try {
      read_npy(path);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of_file(directory.file("none.npy")),
            directory.file("none.npy") + ": there is no such file; write one with numpy.save");
  EXPECT_NE(error_of_file(directory.path()).find("is not a regular file"), std::string::npos);
  EXPECT_NE(error_of_file(directory.write("empty.npy", "")).find("is no .npy file"), std::string::npos);
}

TEST(Npy, OnlyWholeMatricesAreWritten) {
  EXPECT_THROW(npy_bytes({1, 1, Format::Bf16, {0, 0}}), std::invalid_argument);
  EXPECT_THROW(npy_bytes({1, 1, Format::Fp32, {0, 0}}), std::invalid_argument);
  EXPECT_THROW(npy_bytes({1, 2, Format::Fp16, {0, 0, 0, 0, 0}}), std::invalid_argument);
  EXPECT_THROW(write_npy("/nowhere/at/all.npy", {1, 1, Format::Fp16, {0, 0}}), OutputError);
}

}  // namespace
}  // namespace azulejo
