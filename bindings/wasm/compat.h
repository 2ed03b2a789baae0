// What the C++ library of the distribution's Emscripten (libc++ 13) lacks of the standard, so that
// the core compiles unchanged. Included before every source by the preset `wasm`, and nowhere else;
// goes when the distribution's compiler is newer.
#pragma once
#ifdef __cplusplus

#  include <algorithm>
#  include <charconv>
#  include <cstdlib>
#  include <cstring>
#  include <memory>
#  include <string>
#  include <system_error>
#  include <thread>
#  include <type_traits>
#  include <utility>

namespace std {

// Decimal numbers, as the standard's: no blanks, no plus, no hexadecimal; the whole of the longest
// prefix that is a number. strtod of musl rounds correctly and knows no locale but "C".
inline from_chars_result from_chars(const char* begin, const char* end, double& value) {
  const char* at = begin;
  const auto digits = [&at, end] {
    const char* from = at;
    while (at != end && *at >= '0' && *at <= '9') {
      ++at;
    }
    return at - from;
  };
  if (at != end && *at == '-') {
    ++at;
  }
  if (end - at >= 3 && (*at == 'i' || *at == 'n')) {
    const std::string word(at, at + 3);
    if (word == "inf" || word == "nan") {
      at += 3;
      value = strtod(std::string(begin, at).c_str(), nullptr);
      return {at, errc{}};
    }
  }
  auto count = digits();
  if (at != end && *at == '.') {
    ++at;
    const auto fraction = digits();
    if (count + fraction == 0) {
      return {begin, errc::invalid_argument};
    }
    count += fraction;
  }
  if (count == 0) {
    return {begin, errc::invalid_argument};
  }
  if (at != end && (*at == 'e' || *at == 'E')) {
    const char* before = at++;
    if (at != end && (*at == '-' || *at == '+')) {
      ++at;
    }
    if (digits() == 0) {
      at = before;
    }
  }
  const double parsed = strtod(std::string(begin, at).c_str(), nullptr);
  if (parsed == __builtin_huge_val() || parsed == -__builtin_huge_val()) {
    return {at, errc::result_out_of_range};
  }
  value = parsed;
  return {at, errc{}};
}

template <typename To, typename From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

template <typename T>
unique_ptr<T> make_unique_for_overwrite(size_t size) {
  return unique_ptr<T>(new remove_extent_t<T>[size]);
}

class jthread {
 public:
  template <typename F>
  explicit jthread(F&& run) : thread_(std::forward<F>(run)) {}
  jthread(jthread&&) = default;
  ~jthread() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }

 private:
  thread thread_;
};

}  // namespace std

#endif
