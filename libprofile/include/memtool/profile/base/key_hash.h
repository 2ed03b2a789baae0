// Tables whose keys come from inputs: KeyMap and KeySet, and for tables of one's own HashNumber
// and HashBytes. A hash that is the same in every process lets a file choose keys that share a
// place, and n of them cost n² (Crosby and Wallach, "Denial of Service via Algorithmic Complexity
// Attacks", USENIX Security 2003). These depend on words that are drawn when the process starts,
// after the file was written; it never sees a hash, so it cannot learn them either.
//
// The order of such a table differs from run to run and must not be seen. What files store, such as
// the hash in a digest, is another thing: formats/documents/digest/hash_file.cc.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace memtool {

// From the system's random source.
using HashSecret = std::array<std::uint64_t, 3>;
HashSecret DrawHashSecret() noexcept;
inline const HashSecret hash_secret = DrawHashSecret();

// All 128 bits of a product, folded into 64: high bits of the factors reach the low bits of the
// result, which a multiplication modulo 2⁶⁴ leaves to low bits alone. Such hashes are called folded
// multiplications (wyhash, rapidhash, foldhash, Abseil). Each factor below contains a secret word
// that no input can cancel, so that no two keys are known to share a place in every process: that
// is what the seeded hashes lacked that were flooded all the same (MurmurHash, CityHash; Aumasson
// and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012). They are no match for one who
// sees hashes, as SipHash is, and a third of its work.
inline std::uint64_t FoldedProduct(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  return static_cast<std::uint64_t>(product >> 64U) ^ static_cast<std::uint64_t>(product);
}

// Different numbers are different factors of one that is odd and unknown. Keys at equal distances
// would still be products at equal distances, and crowd in one table of a hundred: the second
// multiplication ends that. HashNumber(hash ^ next) continues a hash: to make two equal again,
// `next` had to know in what they differ.
inline std::uint64_t HashNumber(std::uint64_t key) noexcept {
  return FoldedProduct(FoldedProduct(key ^ hash_secret[0], hash_secret[1]), hash_secret[2]);
}

// Blocks of 16 bytes. What is left is the last 16, which may overlap, or in a short key its first
// and last bytes: with its size, either tells keys of one size apart. Both factors of a block hold
// a secret, else a block that makes one of them 0 would hide the other and all before it. Sizes
// count after that, where a key cannot make up for their difference.
inline std::uint64_t HashBytes(std::span<const std::byte> key) noexcept {
  const auto word = [data = key.data()]<class Word>(std::size_t at, Word value) {
    std::memcpy(&value, data + at, sizeof(value));
    return std::uint64_t{value};
  };
  const auto eight = [&word](std::size_t at) { return word(at, std::uint64_t{0}); };
  const auto four = [&word](std::size_t at) { return word(at, std::uint32_t{0}); };
  const std::size_t size = key.size();
  std::uint64_t hash = hash_secret[0];
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  if (size > 16) {
    for (std::size_t at = 0; at < size - 16; at += 16) {
      hash = FoldedProduct(eight(at) ^ hash_secret[1], eight(at + 8) ^ hash);
    }
    first = eight(size - 16);
    second = eight(size - 8);
  } else if (size >= 8) {
    first = eight(0);
    second = eight(size - 8);
  } else if (size >= 4) {
    first = four(0);
    second = four(size - 4);
  } else if (size > 0) {
    const auto one = [&key](std::size_t at) { return std::to_integer<std::uint64_t>(key[at]); };
    first = one(0) << 16U | one(size / 2) << 8U | one(size - 1);
  }
  hash = FoldedProduct(first ^ hash_secret[1], second ^ hash);
  return FoldedProduct(hash ^ size, hash_secret[2]);
}
inline std::uint64_t HashBytes(std::string_view key) noexcept {
  return HashBytes(std::as_bytes(std::span(key.data(), key.size())));
}

// A run of ids or other numbers.
template <class Row>
std::uint64_t HashRows(std::span<const Row> rows) noexcept {
  static_assert(std::has_unique_object_representations_v<Row>, "padding is no part of a key");
  return HashBytes(std::as_bytes(rows));
}

// Numbers, enums, ids, and pointers to objects; not those to characters, which are texts.
template <class Key>
concept NumberKey = std::integral<Key> || std::is_enum_v<Key> ||
                    (std::is_class_v<std::remove_pointer_t<Key>>&& std::is_pointer_v<Key>) ||
                    requires(Key id) {
  { id.value() } -> std::same_as<std::uint32_t>;
};

// Of numbers; of pairs and tuples of them, and of what has a KeyFields() that returns such a tuple;
// of texts, which a std::string_view finds, too.
struct KeyHash {
  using is_transparent = void;

  template <NumberKey Key>
  std::size_t operator()(Key key) const noexcept {
    return static_cast<std::size_t>(HashNumber(ToNumber(key)));
  }
  template <NumberKey... Fields>
  std::size_t operator()(const std::tuple<Fields...>& key) const noexcept {
    return std::apply([](auto... fields) { return HashFields(fields...); }, key);
  }
  template <NumberKey First, NumberKey Second>
  std::size_t operator()(const std::pair<First, Second>& key) const noexcept {
    return HashFields(key.first, key.second);
  }
  template <class Key>
  auto operator()(const Key& key) const noexcept -> decltype((*this)(key.KeyFields())) {
    return (*this)(key.KeyFields());
  }
  // Not noexcept: libstdc++ then keeps the hashes of texts, and compares them first.
  std::size_t operator()(std::string_view key) const {
    return static_cast<std::size_t>(HashBytes(key));
  }

 private:
  template <NumberKey Key>
  static std::uint64_t ToNumber(Key key) noexcept {
    if constexpr (std::is_pointer_v<Key>) {
      return reinterpret_cast<std::uintptr_t>(key);
    } else if constexpr (std::is_class_v<Key>) {
      return key.value();
    } else {
      return static_cast<std::uint64_t>(key);
    }
  }
  template <NumberKey... Fields>
  static std::size_t HashFields(Fields... fields) noexcept {
    std::uint64_t hash = hash_secret[0];
    ((hash = FoldedProduct(hash ^ ToNumber(fields), hash_secret[1])), ...);
    return static_cast<std::size_t>(FoldedProduct(hash, hash_secret[2]));
  }
};

template <class Key, class Value>
using KeyMap = std::unordered_map<Key, Value, KeyHash, std::equal_to<>>;
// Other functions: for keys that are rows of a table, by what is in the row.
template <class Key, class Hash = KeyHash, class Equal = std::equal_to<>>
using KeySet = std::unordered_set<Key, Hash, Equal>;

}  // namespace memtool
