// A std::variant whose copy survives an allocation that fails. libstdc++ (12) takes a variant of
// strings, vectors and numbers for one that always holds something, and destroys by its index what
// a copy constructor has left without one. Assigning, as this one does, makes a whole copy first.
#pragma once

#include <variant>

namespace memtool {

template <class... Types>
class Variant : public std::variant<Types...> {
 public:
  using Base = std::variant<Types...>;
  using Base::Base;
  Variant() = default;
  ~Variant() = default;
  Variant(Variant&&) noexcept = default;
  Variant(const Variant& other) : Base() { Base::operator=(other); }
  Variant& operator=(Variant&&) noexcept = default;
  Variant& operator=(const Variant&) = default;
};

}  // namespace memtool
