// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <cstdint>

#include "peers.hpp"
#include "reference.hpp"

namespace perf {

namespace {

using Team = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int64_t>>;

/// Loads and stores of one line, as in hand-written code.
template <class T, Second second>
struct Line {
  Problem p;
  const T* in;
  const T* factors;
  T* out;

  KOKKOS_FUNCTION Line(const Problem& problem, const Memory& memory)
      : p(problem),
        in(static_cast<const T*>(memory.in)),
        factors(static_cast<const T*>(memory.second)),
        out(static_cast<T*>(memory.out)) {}

  KOKKOS_FUNCTION void move_to(std::int64_t line) {
    const std::int64_t i = line / p.inner, j = line % p.inner;
    in += i * p.in[0] + j * p.in[2];
    if constexpr (second == Second::factor) factors += i * p.in[0] + j * p.in[2];
    out += i * p.out[0] + j * p.out[2];
  }
  KOKKOS_FUNCTION static T first() { return second == Second::factor ? T(boundary) : T(0); }
  KOKKOS_FUNCTION T load(std::int64_t k) const {
    const std::int64_t at = (p.direction == Direction::backward ? p.n - 1 - k : k) * p.in[1];
    if constexpr (second == Second::factor) return in[at] * factors[at];
    return in[at];
  }
  /// The sum of the first k elements.
  KOKKOS_FUNCTION void store(std::int64_t k, T sum) const {
    const std::int64_t at = p.form == Form::inclusive ? k - 1 : k;
    out[(p.direction == Direction::backward ? p.outputs() - 1 - at : at) * p.out[1]] = sum;
  }
};

template <class T, Second second>
struct StepOfLine {
  Line<T, second> line;
  KOKKOS_FUNCTION void operator()(std::int64_t k, T& sum, bool is_final) const {
    if (k == 0) sum += line.first();
    if (is_final && k == 0 && line.p.form != Form::inclusive) line.store(0, sum);
    sum += line.load(k);
    if (!is_final) return;
    if (line.p.form != Form::exclusive || k + 1 < line.p.n) line.store(k + 1, sum);
  }
};

template <class T, Second second>
struct TeamPerLine {
  Line<T, second> all;
  KOKKOS_FUNCTION void operator()(const typename Team::member_type& team) const {
    Line<T, second> line = all;
    line.move_to(team.league_rank());
    Kokkos::parallel_scan(Kokkos::TeamThreadRange(team, line.p.n), StepOfLine<T, second>{line});
  }
};

template <class T>
struct VectorPerLine {
  Line<T, Second::none> all;
  KOKKOS_FUNCTION void operator()(const typename Team::member_type& team) const {
    const std::int64_t number =
        std::int64_t{team.league_rank()} * team.team_size() + team.team_rank();
    if (number >= all.p.lines()) return;
    Line<T, Second::none> line = all;
    line.move_to(number);
    Kokkos::parallel_scan(Kokkos::ThreadVectorRange(team, line.p.n),
                          StepOfLine<T, Second::none>{line});
  }
};

template <class T, Second second>
struct ThreadPerLine {
  Line<T, second> all;
  KOKKOS_FUNCTION void operator()(std::int64_t number) const {
    Line<T, second> line = all;
    line.move_to(number);
    T sum = line.first();
    if (line.p.form != Form::inclusive) line.store(0, sum);
    for (std::int64_t k = 0; k < line.p.n; ++k) {
      sum += line.load(k);
      if (line.p.form != Form::exclusive || k + 1 < line.p.n) line.store(k + 1, sum);
    }
  }
};

struct StepOfOffsets {
  const std::int32_t* counts;
  std::int64_t* offsets;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& sum, bool is_final) const {
    if (is_final && k == 0) offsets[0] = 0;
    sum += counts[k];
    if (is_final) offsets[k + 1] = sum;
  }
};

template <class T, Second second>
void team(const Exec& exec, const Problem& p, const Memory& memory) {
  Kokkos::parallel_for("perf peer", Team(exec, static_cast<int>(p.lines()), Kokkos::AUTO),
                       TeamPerLine<T, second>{{p, memory}});
}
template <class T, Second second>
void thread(const Exec& exec, const Problem& p, const Memory& memory) {
  Kokkos::parallel_for("perf peer", Range(exec, 0, p.lines()),
                       ThreadPerLine<T, second>{{p, memory}});
}

}  // namespace

template <class T>
void team_per_line(const Exec& exec, const Problem& p, const Memory& memory) {
  team<T, Second::none>(exec, p, memory);
}
template <class T>
void vector_per_line(const Exec& exec, const Problem& p, const Memory& memory) {
  const VectorPerLine<T> kernel{{p, memory}};
  const int vector = Team::vector_length_max();
  const int threads = vector > 1 ? 8 : 1;
  Kokkos::parallel_for(
      "perf peer",
      Team(exec, static_cast<int>((p.lines() + threads - 1) / threads), threads, vector), kernel);
}
template <class T>
void thread_per_line(const Exec& exec, const Problem& p, const Memory& memory) {
  thread<T, Second::none>(exec, p, memory);
}
template <class T>
void team_per_column(const Exec& exec, const Problem& p, const Memory& memory) {
  team<T, Second::factor>(exec, p, memory);
}
template <class T>
void thread_per_column(const Exec& exec, const Problem& p, const Memory& memory) {
  thread<T, Second::factor>(exec, p, memory);
}

template void team_per_line<float>(const Exec&, const Problem&, const Memory&);
template void team_per_line<double>(const Exec&, const Problem&, const Memory&);
template void vector_per_line<float>(const Exec&, const Problem&, const Memory&);
template void thread_per_line<float>(const Exec&, const Problem&, const Memory&);
template void thread_per_line<double>(const Exec&, const Problem&, const Memory&);
template void team_per_column<float>(const Exec&, const Problem&, const Memory&);
template void team_per_column<double>(const Exec&, const Problem&, const Memory&);
template void thread_per_column<float>(const Exec&, const Problem&, const Memory&);
template void thread_per_column<double>(const Exec&, const Problem&, const Memory&);

void flat_offsets(const Exec& exec, const Problem& p, const Memory& memory) {
  Kokkos::parallel_scan("perf peer", Range(exec, 0, p.n),
                        StepOfOffsets{static_cast<const std::int32_t*>(memory.in),
                                      static_cast<std::int64_t*>(memory.out)});
}

}  // namespace perf
