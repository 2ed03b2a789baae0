#include "memtool_file/column_packer.h"

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>

namespace memtool::formats::memtool_file {

namespace {

// Where a quick look finds repetitions, a thorough one finds more of them; in noise it only costs
// time. (What a reader does with either is the same.)
constexpr int kQuickLevel = 1;
constexpr int kThoroughLevel = 12;
constexpr std::size_t kNoisePercent = 35;
constexpr std::size_t kTrialRows = 8192;

// What the words of a column have in common.
struct Common {
  std::uint64_t base = 0;
  std::uint64_t divisor = 1;
};

std::uint64_t Magnitude64(std::uint64_t step) {
  return step >> 63U != 0 ? 0 - step : step;
}

// Values into steps, or steps into changes; the first becomes 0.
void ToSteps(std::vector<std::uint64_t>& words) {
  for (std::size_t i = words.size(); i-- > 1;) {
    words[i] -= words[i - 1];
  }
  words[0] = 0;
}

std::uint64_t Least(std::span<const std::uint64_t> values) {
  return *std::min_element(values.begin(), values.end(), [](std::uint64_t a, std::uint64_t b) {
    return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
  });
}

void Divide(std::vector<std::uint64_t>& words, std::uint64_t divisor, bool steps) {
  for (std::uint64_t& word : words) {
    const std::uint64_t part = (steps ? Magnitude64(word) : word) / divisor;
    word = steps && word >> 63U != 0 ? 0 - part : part;
  }
}

// `values` as words that are ready to be laid out.
Common Transformed(std::span<const std::uint64_t> values, Transform transform,
                   std::vector<std::uint64_t>& words) {
  words.assign(values.begin(), values.end());
  const bool steps = transform != Transform::kPlain;
  Common common{.base = steps ? values[0] : Least(values)};
  if (steps) {
    ToSteps(words);
    if (transform == Transform::kChanges) {
      ToSteps(words);
    }
  } else {
    for (std::uint64_t& word : words) {
      word -= common.base;
    }
  }
  std::uint64_t divisor = 0;
  for (const std::uint64_t word : words) {
    const std::uint64_t distance = steps ? Magnitude64(word) : word;
    if (divisor == 0 || (divisor != 1 && distance % divisor != 0)) {
      divisor = std::gcd(divisor, distance);
    }
  }
  common.divisor = std::max<std::uint64_t>(divisor, 1);
  if (common.divisor > 1) {
    Divide(words, common.divisor, steps);
  }
  if (steps) {
    std::transform(words.begin(), words.end(), words.begin(), ZigZag);
  }
  return common;
}

void AppendVarint(std::string& bytes, std::uint64_t word) {
  constexpr std::uint64_t kMore = 0x80;
  while (word >= kMore) {
    bytes.push_back(static_cast<char>(word | kMore));
    word >>= 7U;
  }
  bytes.push_back(static_cast<char>(word));
}

void LayOut(std::span<const std::uint64_t> words, Layout layout, std::string& bytes) {
  bytes.clear();
  if (layout == Layout::kVarints) {
    for (const std::uint64_t word : words) {
      AppendVarint(bytes, word);
    }
    return;
  }
  std::uint64_t all = 1;  // one plane at least
  for (const std::uint64_t word : words) {
    all |= word;
  }
  for (; all != 0; all >>= 8U) {
    bytes.resize(bytes.size() + words.size());
  }
  for (std::size_t begin = 0, shift = 0; begin < bytes.size(); begin += words.size(), shift += 8) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      bytes[begin + i] = static_cast<char>(words[i] >> shift);
    }
  }
}

}  // namespace

ColumnPacker::ColumnPacker() : context_(::ZSTD_createCCtx()) {
  if (context_ == nullptr) {
    throw std::bad_alloc();
  }
}

void ColumnPacker::Varint(std::uint64_t value) {
  AppendVarint(*payload_, value);
}

bool ColumnPacker::Pack(std::string_view bytes, int level) {
  packed_.resize(::ZSTD_compressBound(bytes.size()));
  const std::size_t size = ::ZSTD_compressCCtx(context_.get(), packed_.data(), packed_.size(),
                                               bytes.data(), bytes.size(), level);
  if (::ZSTD_isError(size) != 0U) {
    throw std::bad_alloc();  // there is room for any result: nothing else can fail
  }
  if (size >= bytes.size()) {
    return false;
  }
  packed_.resize(size);
  return true;
}

Coding ColumnPacker::Choose(std::uint32_t number, std::span<const std::uint64_t> values) {
  const auto known = chosen_.find({table_, number});
  if (known != chosen_.end()) {
    return known->second;
  }
  const std::size_t rows = std::min(values.size(), kTrialRows);
  const auto part = values.subspan((values.size() - rows) / 2, rows);
  Coding best;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const Transform transform : {Transform::kPlain, Transform::kSteps, Transform::kChanges}) {
    Transformed(part, transform, words_);
    for (const Layout layout : {Layout::kVarints, Layout::kPlanes}) {
      LayOut(words_, layout, bytes_);
      const std::size_t size = Pack(bytes_, kQuickLevel) ? packed_.size() : bytes_.size();
      if (size < least) {
        least = size;
        best = {.transform = transform, .layout = layout};
      }
    }
  }
  if (rows == kTrialRows) {  // fewer say little about later sections
    chosen_.emplace(Key(table_, number), best);
  }
  return best;
}

void ColumnPacker::Head(std::uint32_t number, Coding coding, bool packed, std::uint64_t base) {
  Varint(number);
  const auto code = static_cast<unsigned>(coding.transform) |
                    static_cast<unsigned>(coding.layout) << 2U | (packed ? kPackedBit : 0U);
  payload_->push_back(static_cast<char>(code));
  Varint(base);
}

void ColumnPacker::Body(std::uint32_t number, Coding coding, std::uint64_t base,
                        std::uint64_t divisor, std::string_view bytes) {
  bool packed = Pack(bytes, kQuickLevel);
  if (packed && packed_.size() * 100 < bytes.size() * kNoisePercent) {
    packed = Pack(bytes, kThoroughLevel);
  }
  const std::string_view kept = packed ? std::string_view(packed_) : bytes;
  Head(number, coding, packed, base);
  Varint(divisor);
  Varint(bytes.size());
  Varint(kept.size());
  payload_->append(kept);
}

void ColumnPacker::Numbers(std::uint32_t number, std::span<const std::uint64_t> values) {
  if (values.empty()) {
    return;
  }
  const std::uint64_t first = values[0];
  if (std::all_of(values.begin(), values.end(), [first](std::uint64_t v) { return v == first; })) {
    if (first != 0) {
      Head(number, {}, false, first);
    }
    return;
  }
  const Coding coding = Choose(number, values);
  const Common common = Transformed(values, coding.transform, words_);
  LayOut(words_, coding.layout, bytes_);
  Body(number, coding, common.base, common.divisor, bytes_);
}

void ColumnPacker::Texts(std::uint32_t number, std::span<const std::string_view> texts) {
  std::vector<std::uint64_t> lengths;
  lengths.reserve(texts.size());
  std::string bytes;
  for (const std::string_view text : texts) {
    lengths.push_back(text.size());
    bytes += text;
  }
  if (!bytes.empty()) {
    Numbers(number, lengths);
    Body(number, {.transform = Transform::kPlain, .layout = Layout::kText}, 0, 1, bytes);
  }
}

}  // namespace memtool::formats::memtool_file
