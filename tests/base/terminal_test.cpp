// Tests of tables that fit into a terminal.
#include <gtest/gtest.h>

#include "base/terminal.h"

namespace hlo {
namespace {

using Rows = std::vector<std::vector<std::string>>;

TEST(Terminal, ShortensInTheMiddle) {
  EXPECT_EQ(CutTo("input_reduce_fusion.12", 22), "input_reduce_fusion.12");
  EXPECT_EQ(CutTo("input_reduce_fusion.12", 12), "input...n.12");
  EXPECT_EQ(CutTo("\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4", 8),
            "\xC3\xA4...\xC3\xA4");  // A character is not divided.
}

TEST(Terminal, ShrinksTheWidestColumnsThatMayShrink) {
  Rows rows = {{"kernel", "op_name", "ms"},
               {"fusion.1", "jit(f)/transformer/layer_12/attention/softmax", "123456789012"}};
  FitRows(rows, {true, true, false}, 2, 48);
  EXPECT_EQ(rows[1], (std::vector<std::string>{"fusion.1", "jit(f)/tran...on/softmax", "123456789012"}));
  EXPECT_EQ(rows[0], (std::vector<std::string>{"kernel", "op_name", "ms"}));
}

TEST(Terminal, KeepsTablesThatFitOrCannotShrink) {
  const Rows table = {{"a", "1234567890123456789012345678901234567890"}};
  Rows rows = table;
  FitRows(rows, {true, false}, 2, 20);
  EXPECT_EQ(rows, table);
  FitRows(rows, {true, true}, 2, 0);
  EXPECT_EQ(rows, table);
  FitRows(rows, {true, true}, 2, 43);
  EXPECT_EQ(rows, table);
}

}  // namespace
}  // namespace hlo
