// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scan.hpp"

#include <set>
#include <tuple>

namespace test::scan {

using Pair = std::tuple<int, int, int, int>;

/// All pairs of levels of two factors that a case covers. Form and placement together are factor 5;
/// they need not be combined with every layout, since only some layouts can alias.
void add_pairs(Case const& c, std::set<Pair>& pairs) {
  int const levels[] = {c.type, c.rank, static_cast<int>(c.op), static_cast<int>(c.function),
                        static_cast<int>(c.layouts)};
  for (int f = 0; f < 5; ++f) {
    for (int g = f + 1; g < 5; ++g) pairs.emplace(f, levels[f], g, levels[g]);
  }
  for (auto const& [form, place] : runs_of(c)) {
    for (int f = 0; f < 5; ++f) {
      pairs.emplace(f, levels[f], 5, 10 * static_cast<int>(form) + static_cast<int>(place));
    }
  }
}

void check_cover() {
  std::set<Pair> covered;
  std::set<Pair> wanted;
  for (int type = 0; type < type_count; ++type) {
    for (int rank = 1; rank <= max_rank; ++rank) {
      add_pairs(case_of(type, rank), covered);
      for (int op = 0; op < operator_count; ++op) {
        if (!is_valid(type, static_cast<Operator>(op))) continue;
        for (int function = 0; function < function_count; ++function) {
          for (int layouts = 0; layouts < layouts_count; ++layouts) {
            add_pairs({type, rank, static_cast<Operator>(op), static_cast<Function>(function),
                       static_cast<Layouts>(layouts)},
                      wanted);
          }
        }
      }
    }
  }
  EXPECT_GT(wanted.size(), 500u);
  for (auto const& [f, level_f, g, level_g] : wanted) {
    EXPECT_TRUE(covered.count({f, level_f, g, level_g}) == 1)
        << "factors " << f << " and " << g << ": levels " << level_f << " and " << level_g;
  }
}

}  // namespace test::scan

TEST(scan, covers_every_pair) { test::scan::check_cover(); }
