#include "io/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace neffcache {
namespace {

TEST(Utf8Test, WellFormedTextIsUnchanged) {
  for (const char* text : {"", "plain text\n", "caf\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
    EXPECT_EQ(ToUtf8(text), text);
  }
}

TEST(Utf8Test, EveryOtherByteBecomesAQuestionMark) {
  const struct {
    const char* bytes;
    const char* text;
  } cases[] = {
      {"a\xff z", "a? z"},
      {"\xc3", "?"},                  // Cut.
      {"\xe2\x82", "??"},             // Cut.
      {"\xc0\xaf", "??"},             // Overlong.
      {"\xe0\x80\x80", "???"},        // Overlong.
      {"\xf0\x80\x80\x80", "????"},   // Overlong.
      {"\xed\xa0\x80", "???"},        // A surrogate.
      {"\xf4\x90\x80\x80", "????"},   // Beyond the last code point.
      {"\x80\xc3\xa9", "?\xc3\xa9"},  // What follows is kept.
  };
  for (const auto& [bytes, text] : cases) {
    EXPECT_FALSE(IsUtf8(bytes)) << text;
    EXPECT_EQ(ToUtf8(bytes), text);
  }
}

TEST(Utf8Test, NulIsValidButNotPrinted) {
  const std::string text("a\0b", 3);
  EXPECT_TRUE(IsUtf8(text));
  EXPECT_EQ(ToUtf8(text), "a?b");
}

TEST(Utf8Test, CutsDoNotSplitCharacters) {
  const std::string text = "\xe2\x82\xac\xe2\x82\xac";
  EXPECT_EQ(Utf8Head(text, 4), "\xe2\x82\xac");
  EXPECT_EQ(Utf8Tail(text, 4), "\xe2\x82\xac");
  EXPECT_EQ(Utf8Head(text, 6), text);
  EXPECT_EQ(Utf8Tail(text, 100), text);
}

}  // namespace
}  // namespace neffcache
