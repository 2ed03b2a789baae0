#include "xplane/stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include "memtool/profile/base/numbers.h"
#include "support/wire.h"

namespace memtool::formats::xplane {

StatKey ToStatKey(std::string_view name) {
  static constexpr std::pair<std::string_view, StatKey> kKeys[]{
      {"allocator_name", StatKey::kAllocator},
      {"bytes_reserved", StatKey::kReserved},
      {"bytes_allocated", StatKey::kAllocated},
      {"bytes_available", StatKey::kAvailable},
      {"peak_bytes_in_use", StatKey::kPeak},
      {"requested_bytes", StatKey::kRequested},
      {"allocation_bytes", StatKey::kBytes},
      {"addr", StatKey::kAddress},
      {"tf_op", StatKey::kOp},
      {"region_type", StatKey::kRegion},
      {"data_type", StatKey::kDataType},
      {"shape", StatKey::kShape},
      {"device_ordinal", StatKey::kDevice},
      {"index_on_host", StatKey::kDevice},
      {"step_num", StatKey::kStep},
      {"_p", StatKey::kProducer},
      {"_pt", StatKey::kProducerType},
      {"_c", StatKey::kConsumer},
      {"_ct", StatKey::kConsumerType},
  };
  const auto* it = std::find_if(std::begin(kKeys), std::end(kKeys),
                                [name](const auto& each) { return each.first == name; });
  return it == std::end(kKeys) ? StatKey::kNone : it->second;
}

Stat ReadStat(ByteCursor cursor) {
  Stat stat;
  while (!cursor.done()) {
    const wire::Field field = wire::Next(cursor);
    switch (field.number) {
      case 1:
        stat.name = GetKey(field.Varint("stat id")).value_or(0);
        break;
      case 2:
        field.Expect(wire::kFixed64, "double value");
        stat.kind = Stat::Kind::kReal;
        stat.real = std::bit_cast<double>(field.value);
        break;
      case 3:
      case 4:
        stat.kind = Stat::Kind::kInteger;
        stat.integer = field.Int("value");
        break;
      case 5:
      case 6:
        field.Expect(wire::kLength, "text");
        stat.kind = field.number == 5 ? Stat::Kind::kText : Stat::Kind::kBytes;
        stat.bytes = field.bytes;
        break;
      case 7:
        stat.kind = Stat::Kind::kReference;
        stat.integer = field.Int("reference");
        break;
      default:
        break;
    }
  }
  return stat;
}

std::optional<std::int64_t> MakeFigure(const Stat& stat) {
  constexpr double kMax = 9.2e18;
  switch (stat.kind) {
    case Stat::Kind::kInteger:
      return stat.integer;
    case Stat::Kind::kReal:
      return std::abs(stat.real) < kMax ? std::optional(std::llround(stat.real)) : std::nullopt;
    case Stat::Kind::kText:
      return ParseNumber<std::int64_t>(AsText(stat.bytes));
    default:
      return std::nullopt;
  }
}

}  // namespace memtool::formats::xplane
