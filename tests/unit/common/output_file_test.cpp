// SPDX-License-Identifier: Apache-2.0
// Are output files refused early, and never left half written?
#include "tlm/common/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/unit/common/temporary_directory.h"
#include "tlm/common/error.h"

namespace azulejo {
namespace {

std::string problem_with(const std::string& path) {
  try {
    check_writable(path);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

std::size_t files_in(const std::string& directory) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

TEST(OutputFile, AWritablePathIsLeftAsItWas) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(problem_with(directory.file("new.json")), "");
  EXPECT_EQ(files_in(directory.path()), 0U);
  const std::string present = directory.write("old.json", "old");
  EXPECT_EQ(problem_with(present), "");
  EXPECT_EQ(test::TemporaryDirectory::read(present), "old");
}

TEST(OutputFile, PathsThatCannotBeWrittenSayWhy) {
  const test::TemporaryDirectory directory;
  EXPECT_NE(problem_with("").find("empty name"), std::string::npos);
  EXPECT_NE(problem_with(directory.path()).find("is a directory"), std::string::npos);
  EXPECT_NE(problem_with(directory.path() + "/").find("is a directory"), std::string::npos);
  EXPECT_NE(problem_with(directory.file("no/such/r.json")).find("create it first (mkdir -p)"), std::string::npos);
  directory.write("file", "");
  EXPECT_NE(problem_with(directory.file("file/r.json")).find("there is no directory"), std::string::npos);
  EXPECT_NE(problem_with("/proc/azulejo.json").find("cannot be written"), std::string::npos);
  EXPECT_NE(problem_with(directory.file(std::string(300, 'x'))).find("cannot be written"), std::string::npos);
}

TEST(OutputFile, ReplacesTheOldContentAndKeepsPermissions) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.write("r.json", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  write_file_atomically(path, std::string("new\0bytes", 9));
  EXPECT_EQ(test::TemporaryDirectory::read(path), std::string("new\0bytes", 9));
  EXPECT_EQ(files_in(directory.path()), 1U);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
}

TEST(OutputFile, FollowsASymbolicLink) {
  const test::TemporaryDirectory directory;
  std::filesystem::create_directory(directory.file("kept"));
  std::filesystem::create_symlink("kept/real", directory.file("link"));
  EXPECT_EQ(problem_with(directory.file("link")), "");
  write_file_atomically(directory.file("link"), "text");
  EXPECT_TRUE(std::filesystem::is_symlink(directory.file("link")));
  EXPECT_EQ(test::TemporaryDirectory::read(directory.file("kept/real")), "text");
}

TEST(OutputFile, WritesToADeviceWithoutReplacingIt) {
  EXPECT_EQ(problem_with("/dev/null"), "");
  write_file_atomically("/dev/null", "text");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(OutputFile, AFailedWriteLeavesNothingBehind) {
  EXPECT_THROW(write_file_atomically("/dev/full", "text"), OutputError);
  const test::TemporaryDirectory directory;
  EXPECT_THROW(write_file_atomically(directory.file("no/such"), "text"), OutputError);
  std::filesystem::create_directory(directory.file("taken"));
  EXPECT_THROW(write_file_atomically(directory.file("taken"), "text"), OutputError);
  EXPECT_EQ(files_in(directory.path()), 1U);
}

}  // namespace
}  // namespace azulejo
