#include "compiler_driver/bounded_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace neffcache {
namespace {

TEST(BoundedLogTest, KeepsAllThatFits) {
  BoundedLog log(4, 8);
  log.Append("abc");
  log.Append("defghijkl");
  EXPECT_EQ(log.Text(), "abcdefghijkl");
  EXPECT_EQ(log.dropped(), 0u);
}

TEST(BoundedLogTest, DropsTheMiddleAndSaysHowMuch) {
  BoundedLog log(3, 5);
  for (char c = 'a'; c <= 'z'; ++c) log.Append(std::string(1, c));
  EXPECT_EQ(log.dropped(), 18u);
  EXPECT_EQ(log.Text(), "abc\n[neffcache: 18 bytes of output dropped here]\nvwxyz");
}

TEST(BoundedLogTest, OneHugePieceIsBoundedToo) {
  BoundedLog log(2, 4);
  log.Append("xx");
  log.Append("12345678901234567890");
  log.Append("ab");
  EXPECT_EQ(log.dropped(), 18u);
  EXPECT_THAT(log.Text(), ::testing::EndsWith("\n90ab"));
}

TEST(BoundedLogTest, LastLineMayBeUnfinishedAndIsNeverBlank) {
  BoundedLog log(1000, 1000);
  EXPECT_EQ(log.LastLine(), "");
  log.Append("first\nsecond");
  EXPECT_EQ(log.LastLine(), "second");
  log.Append("\n  \n\r\n");
  EXPECT_EQ(log.LastLine(), "second");
  log.Append("10%\r20%\r");
  EXPECT_EQ(log.LastLine(), "20%");
}

TEST(BoundedLogTest, LastLineIsFoundWhenOnlyTheHeadHasOne) {
  BoundedLog log(5, 100);
  log.Append("hello\n\n");
  EXPECT_EQ(log.LastLine(), "hello");
}

}  // namespace
}  // namespace neffcache
