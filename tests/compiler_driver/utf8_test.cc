#include "compiler_driver/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace neffcache {
namespace {

TEST(Utf8Test, ValidTextIsUnchanged) {
  const std::string text = "plain, \xc3\xa9, \xe2\x82\xac, \xf0\x9f\x98\x80\n";
  EXPECT_EQ(ToUtf8(text), text);
}

TEST(Utf8Test, EveryStrayByteBecomesAQuestionMark) {
  EXPECT_EQ(ToUtf8("a\xff z"), "a? z");
  EXPECT_EQ(ToUtf8("\xc3"), "?");                 // Cut off.
  EXPECT_EQ(ToUtf8("\xc0\xaf"), "??");            // Overlong.
  EXPECT_EQ(ToUtf8("\xed\xa0\x80"), "???");       // A surrogate.
  EXPECT_EQ(ToUtf8("\xf4\x90\x80\x80"), "????");  // Beyond the last code point.
  EXPECT_EQ(ToUtf8(std::string("a\0b", 3)), "a?b");
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
