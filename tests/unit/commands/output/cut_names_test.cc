#include "output/cut_names.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "output/escape.h"

namespace memtool::commands {
namespace {

TEST(CutApart, LeavesShortNamesAlone) {
  const auto cut = CutApart({"forward", "backward"}, 10, false);
  EXPECT_TRUE(cut.empty());
}

TEST(CutApart, CutsNamesInTheMiddleAndPathsFromTheLeft) {
  EXPECT_EQ(
      CutApart({"scaled_dot_product_attention"}, 11, false).at("scaled_dot_product_attention"),
      "scale…ntion");
  EXPECT_EQ(CutApart({"modeling_llama.py:216"}, 11, true).at("modeling_llama.py:216"),
            "…ama.py:216");
}

TEST(CutApart, KeepsALineNumberWhole) {
  EXPECT_EQ(CutApart({"forward  modeling_llama.py:121621"}, 10, false)
                .at("forward  modeling_llama.py:121621"),
            "fo…:121621");
}

TEST(CutApart, FormsAreDistinct) {
  const std::set<std::string> names{"layer_norm_forward_kernel_float32_vector",
                                    "layer_norm_forward_kernel_double_vector",
                                    "layer_norm_forward_second_float32_vector",
                                    "layer_norm_backward_kernel_float16_vec1",
                                    "layer_norm_backward_kernel_float16_vec2",
                                    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1bbbbbbbb",
                                    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2bbbbbbbb",
                                    "layer_…ector"};
  for (const std::size_t width : {8U, 10U, 13U, 20U, 30U}) {
    const auto cut = CutApart(names, width, false);
    std::set<std::string> seen;
    for (const std::string& name : names) {
      const auto found = cut.find(name);
      const std::string form = found == cut.end() ? name : found->second;
      EXPECT_LE(DisplayWidth(form), std::max<std::size_t>(width, 8)) << form;
      EXPECT_TRUE(seen.insert(form).second) << form << " at " << width;
    }
  }
}

}  // namespace
}  // namespace memtool::commands
