// SPDX-License-Identifier: Apache-2.0
// Is every mistake in a configuration text found, placed and explained?
#include "tlm/common/config_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/unit/common/temporary_directory.h"

namespace azulejo {
namespace {

enum class Shade { Light, Dark };

struct Inner {
  std::uint32_t count = 7;
  std::uint64_t latency = 5;
};

struct Outer {
  std::uint32_t size = 1;
  std::uint64_t seed = 2;
  bool on = false;
  std::string note = "none";
  Shade shade = Shade::Light;
  std::vector<std::vector<Shade>> groups;
  Inner inner;
};

template <class V>
void describe(V& v, Inner& c) {
  v.integer("count", c.count, "a count");
  v.quantity("latency", c.latency, Quantity::Time, "a time");
}

template <class V>
void describe(V& v, Outer& c) {
  static const ConfigWords<Shade> kShades{{"light", Shade::Light}, {"dark", Shade::Dark}};
  v.integer("size", c.size, "a size");
  v.integer("seed", c.seed, "a seed");
  v.flag("on", c.on, "a flag");
  v.text("note", c.note, "a text");
  v.word("shade", c.shade, kShades, "a word");
  v.word_groups("groups", c.groups, kShades, "groups of words");
  v.group("inner", c.inner, "a part");
}

std::vector<std::string> problems_in(const std::string& text, Outer* out = nullptr) {
  ConfigLog log;
  Outer config;
  try {
    read_config(*parse_config(text, "x.yaml"), config, log);
  } catch (const ConfigError& error) {
    log.add(error);
  }
  if (out != nullptr) *out = config;
  return log.texts();
}

std::string problem_in(const std::string& text) {
  const std::vector<std::string> problems = problems_in(text);
  EXPECT_EQ(problems.size(), 1U) << text;
  return problems.empty() ? "" : problems.front();
}

TEST(ConfigReader, ReadsEveryKindOfValue) {
  Outer config;
  const auto problems = problems_in(
      "size: 4294967295\n"
      "seed: 18446744073709551615\n"
      "on: true\n"
      "note: 'two words: # and more'\n"
      "shade: dark\n"
      "groups: [[light, dark], []]\n"
      "inner: {count: 0, latency: 1.5 ns}\n",
      &config);
  EXPECT_TRUE(problems.empty()) << problems.front();
  EXPECT_EQ(config.size, 4294967295U);
  EXPECT_EQ(config.seed, 18446744073709551615U);
  EXPECT_TRUE(config.on);
  EXPECT_EQ(config.note, "two words: # and more");
  EXPECT_EQ(config.shade, Shade::Dark);
  EXPECT_EQ(config.groups, (std::vector<std::vector<Shade>>{{Shade::Light, Shade::Dark}, {}}));
  EXPECT_EQ(config.inner.count, 0U);
  EXPECT_EQ(config.inner.latency, 1'500'000U);
}

TEST(ConfigReader, KeysThatAreNotGivenKeepTheirValues) {
  Outer config;
  EXPECT_TRUE(problems_in("inner: {latency: 1 ns}", &config).empty());
  EXPECT_EQ(config.size, 1U);
  EXPECT_EQ(config.inner.count, 7U);
}

TEST(ConfigReader, RemembersWhereEachKeyWasSaid) {
  ConfigLog log;
  Outer config;
  read_config(*parse_config("size: 3\ninner:\n  count: 4\n", "x.yaml"), config, log);
  EXPECT_EQ(log.places.at("size"), "x.yaml:1:7");
  EXPECT_EQ(log.places.at("inner.count"), "x.yaml:3:10");
}

TEST(ConfigReader, UnknownKeysNameTheKnownAndTheNearOnes) {
  EXPECT_EQ(
      problem_in("sise: 3"),
      "x.yaml:1:1: sise: unknown key; known here: size, seed, on, note, shade, groups, inner; did you mean 'size'?");
  EXPECT_EQ(problem_in("inner:\n  latencies: 3 ns"),
            "x.yaml:2:3: inner.latencies: unknown key; known here: count, latency; did you mean 'latency'?");
}

TEST(ConfigReader, WrongKindsOfValuesSayWhatIsExpected) {
  EXPECT_EQ(problem_in("size: [1]"), "x.yaml:1:7: size: is a list; a whole number is expected");
  EXPECT_EQ(problem_in("size: {a: 1}"), "x.yaml:1:7: size: is a map; a whole number is expected");
  EXPECT_NE(problem_in("size:").find("size: has no value; a whole number is expected"), std::string::npos);
  EXPECT_NE(problem_in("inner:").find("inner: a map of keys is expected"), std::string::npos);
  EXPECT_EQ(problem_in("inner: 3"), "x.yaml:1:8: inner: a map of keys is expected");
  EXPECT_EQ(problem_in("note: []"), "x.yaml:1:7: note: is a list; text is expected");
  EXPECT_EQ(problem_in("groups: light"), "x.yaml:1:9: groups: a list of groups such as [[light, dark]] is expected");
  EXPECT_EQ(problem_in("groups: [light]"), "x.yaml:1:10: groups: a list of groups such as [[light, dark]] is expected");
  EXPECT_EQ(problem_in("inner: {latency: {}}"),
            "x.yaml:1:18: inner.latency: is a map; a time such as 1300 ns is expected");
}

TEST(ConfigReader, WrongNumbersAreRefused) {
  EXPECT_EQ(problem_in("size: 4294967296"), "x.yaml:1:7: size: '4294967296' is too large; at most 4294967295");
  EXPECT_EQ(problem_in("seed: 18446744073709551616"),
            "x.yaml:1:7: seed: '18446744073709551616' is too large; at most 18446744073709551615");
  for (const char* text : {"size: -1", "size: 1.0", "size: 0x10", "size: 1e3", "size: one", "size: ''", "size: 1 2"}) {
    EXPECT_NE(problem_in(text).find("is not a whole number"), std::string::npos) << text;
  }
  EXPECT_EQ(problem_in("inner: {latency: 3}"),
            "x.yaml:1:18: inner.latency: '3' has no unit; allowed units: fs, ps, ns, us, ms, s");
}

TEST(ConfigReader, WrongWordsNameTheAllowedAndTheNearOnes) {
  EXPECT_EQ(problem_in("shade: drak"), "x.yaml:1:8: shade: 'drak' is not one of light, dark; did you mean 'dark'?");
  EXPECT_EQ(problem_in("on: yes"), "x.yaml:1:5: on: 'yes' is not one of false, true");
  EXPECT_EQ(problem_in("groups: [[light, lihgt]]"),
            "x.yaml:1:18: groups: 'lihgt' is not one of light, dark; did you mean 'light'?");
}

TEST(ConfigReader, AllProblemsComeTogether) {
  EXPECT_EQ(problems_in("size: x\nseed: y\nshade: z\nnothing: 1\ninner: {count: w, latency: v}").size(), 6U);
}

TEST(ConfigReader, DuplicateKeysAreRefused) {
  EXPECT_EQ(problem_in("size: 1\nseed: 2\nsize: 1\n"),
            "x.yaml:3:1: the key 'size' is given twice; first at x.yaml:1:1");
  EXPECT_EQ(problem_in("inner: {count: 1, count: 2}"),
            "x.yaml:1:19: the key 'count' is given twice; first at x.yaml:1:9");
}

TEST(ConfigReader, TextThatIsNoYamlIsPlaced) {
  EXPECT_EQ(problem_in("size: [1\n").substr(0, 7), "x.yaml:");
  EXPECT_NE(problem_in("size: [1\n").find("not YAML"), std::string::npos);
  EXPECT_NE(problem_in("inner:\n\tcount: 1\n").find("indent with spaces, not tabs"), std::string::npos);
  EXPECT_NE(problem_in("size: 'abc").find("not YAML"), std::string::npos);
  EXPECT_NE(problem_in("size: *nowhere").find("not YAML"), std::string::npos);
}

TEST(ConfigReader, TheRootIsAMap) {
  EXPECT_EQ(problem_in(""), "x.yaml: is empty; a map of keys is expected");
  EXPECT_EQ(problem_in("# nothing\n"), "x.yaml: is empty; a map of keys is expected");
  EXPECT_EQ(problem_in("~"), "x.yaml: is empty; a map of keys is expected");
  EXPECT_EQ(problem_in("hello"), "x.yaml:1:1: a map of keys is expected, such as 'chips: 1'");
  EXPECT_EQ(problem_in("[1, 2]"), "x.yaml:1:1: a map of keys is expected, such as 'chips: 1'");
}

TEST(ConfigReader, OneFileHoldsOneDocument) {
  EXPECT_NE(problem_in("size: 1\n---\nsize: 2\n").find("a second document begins"), std::string::npos);
  EXPECT_TRUE(problems_in("---\nsize: 1\n...\n").empty());
}

TEST(ConfigReader, TagsAndKeysThatAreNoWordsAreRefused) {
  EXPECT_NE(problem_in("size: !!int 3").find("is not accepted; write the value alone"), std::string::npos);
  EXPECT_NE(problem_in("? [a, b]\n: 3\n").find("a key must be a word"), std::string::npos);
  EXPECT_NE(problem_in("~: 3").find("a key must be a word"), std::string::npos);
}

TEST(ConfigReader, AliasesRepeatValues) {
  Outer config;
  EXPECT_TRUE(problems_in("size: &n 12\nseed: *n\n", &config).empty());
  EXPECT_EQ(config.seed, 12U);
}

TEST(ConfigReader, AliasBombsAreRefused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 1; j < 10; ++j) text += ", " + before;
    text += "]\n";
  }
  EXPECT_NE(problem_in(text).find("more than 20000 values, aliases written out"), std::string::npos);
}

TEST(ConfigReader, AnAliasInsideItsOwnAnchorIsRefused) {
  EXPECT_NE(problem_in("inner: &a {count: *a}").find("inside the value that it repeats"), std::string::npos);
}

TEST(ConfigReader, DeepNestingIsRefused) {
  EXPECT_NE(problem_in("size: " + std::string(100, '[')).find("more than 16 nested levels"), std::string::npos);
  EXPECT_NE(problem_in("size: " + std::string(100'000, '[')).find("more than 16 nested levels"), std::string::npos);
  EXPECT_NE(problem_in("size: " + std::string(100'000, '{')).find("more than 16 nested levels"), std::string::npos);
}

TEST(ConfigReader, LargeTextIsRefused) {
  EXPECT_EQ(problem_in("size: 1 # " + std::string(300'000, 'x')), "x.yaml: more than 256 KiB is no configuration");
}

TEST(ConfigReader, FilesThatCannotBeReadAreNamed) {
  const test::TemporaryDirectory directory;
  const auto error_of = [](const std::string& path) -> std::string {
    try {
      read_config_text(path);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of(directory.file("none.yaml")),
            directory.file("none.yaml") + ": cannot be read; there is no such file, or permission is missing");
  EXPECT_EQ(error_of(directory.path()), directory.path() + ": is a directory; a file is expected");
  EXPECT_EQ(error_of("/dev/zero"), "/dev/zero: more than 256 KiB is no configuration");
  EXPECT_EQ(error_of(directory.write("large.yaml", std::string(256 * 1024 + 1, ' '))),
            directory.file("large.yaml") + ": more than 256 KiB is no configuration");
  EXPECT_EQ(error_of(directory.write("good.yaml", "size: 1\n")), "");
}

TEST(ConfigReader, ScalarsAreQuotedWhenTheyMustBe) {
  const std::vector<std::string> texts{"plain words, 1.5 GHz",
                                       "",
                                       " x",
                                       "x ",
                                       "a: b",
                                       "a #b",
                                       "null",
                                       "~",
                                       "-x",
                                       "[x",
                                       "\"q\"",
                                       "back\\slash",
                                       "tab\t",
                                       "two\nlines",
                                       "\r\n",
                                       "'",
                                       "*a",
                                       "&a",
                                       "!t",
                                       "%d",
                                       "@x",
                                       "`x",
                                       "?",
                                       "true",
                                       std::string("nul\0x", 5),
                                       "\x7F"};
  for (const std::string& text : texts) {
    Outer config;
    const auto problems = problems_in("note: " + yaml_scalar(text), &config);
    EXPECT_TRUE(problems.empty()) << text << ": " << problems.front();
    EXPECT_EQ(config.note, text);
  }
  EXPECT_EQ(yaml_scalar("AWS Trainium1, 2 cores"), "AWS Trainium1, 2 cores");
}

TEST(ConfigReader, ValuesOfACommandLineAreScalarsOrLists) {
  EXPECT_EQ(parse_config_value(" 1 GHz ", "here")->scalar, "1 GHz");
  EXPECT_EQ(parse_config_value("", "here")->scalar, "");
  const auto list = parse_config_value("[[a, 'b,c'], []]", "here");
  EXPECT_EQ(list->items.at(0)->items.at(1)->scalar, "b,c");
  EXPECT_EQ(list->items.at(0)->items.at(1)->place, "here");
  EXPECT_EQ(config_value_text(*list), "[[a, \"b,c\"], []]");
  EXPECT_THROW(parse_config_value("[a", "here"), ConfigError);
  EXPECT_THROW(parse_config_value("[{a: 1, a: 2}]", "here"), ConfigError);
}

}  // namespace
}  // namespace azulejo
