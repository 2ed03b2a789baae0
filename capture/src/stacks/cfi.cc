#include "stacks/cfi.h"

#include <cstring>

namespace memtool::capture {

namespace {

constexpr unsigned kRbp = 6;
constexpr unsigned kRsp = 7;
constexpr unsigned kReturn = 16;
constexpr unsigned char kDataRelative4 = 0x3b;
constexpr unsigned char kUnsigned4 = 0x03;

template <class T>
T Load(const unsigned char* at) {
  T value{};
  memcpy(&value, at, sizeof value);
  return value;
}

// Bytes of a segment, never beyond its end, or of an entry in it: whoever wrote the tables may be
// wrong about them.
struct Bytes {
  const unsigned char* at = nullptr;
  const unsigned char* end = nullptr;
  bool failed = false;

  bool Has(std::uint64_t size) {
    if (at == nullptr || static_cast<std::uint64_t>(end - at) < size) {
      failed = true;
      at = end;
    }
    return !failed;
  }
  unsigned char Byte() { return Has(1) ? *at++ : static_cast<unsigned char>(0); }
  template <class T>
  T Fixed() {
    if (!Has(sizeof(T))) {
      return T{};
    }
    at += sizeof(T);
    return Load<T>(at - sizeof(T));
  }
  std::uint64_t Unsigned() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const unsigned char byte = Byte();
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) == 0) {
        return value;
      }
    }
    failed = true;
    return 0;
  }
  std::int64_t Signed() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const unsigned char byte = Byte();
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) == 0) {
        if ((byte & 0x40U) != 0 && shift + 7 < 64) {
          value |= ~std::uint64_t{0} << (shift + 7);
        }
        return static_cast<std::int64_t>(value);
      }
    }
    failed = true;
    return 0;
  }
  // The next bytes, which are skipped here.
  Bytes Take(std::uint64_t size) {
    if (!Has(size)) {
      return {at, at, true};
    }
    at += size;
    return {at - size, at};
  }
  // A pointer in one of the usual encodings; 0 and failed for others.
  std::uintptr_t Pointer(unsigned char encoding) {
    const unsigned char* here = at;
    std::uintptr_t value = 0;
    switch (encoding & 0x0fU) {
      case 0x00:
      case 0x04:
      case 0x0c:
        value = Fixed<std::uint64_t>();
        break;
      case 0x03:
        value = Fixed<std::uint32_t>();
        break;
      case 0x0b:
        value = static_cast<std::uintptr_t>(std::intptr_t{Fixed<std::int32_t>()});
        break;
      default:
        failed = true;
    }
    const unsigned relative = encoding & 0xf0U;
    if (relative == 0x10) {
      value += reinterpret_cast<std::uintptr_t>(here);
    } else if (relative != 0) {
      failed = true;
    }
    return value;
  }
};

// From `at` to the end of the segment.
Bytes From(const AddressRange& tables, std::uintptr_t at) {
  if (!tables.Holds(at, 1)) {
    return {.failed = true};
  }
  return {reinterpret_cast<const unsigned char*>(at),
          reinterpret_cast<const unsigned char*>(tables.end)};
}

// The entry at `at`, without its length. The mark of 64-bit entries is too long as well.
Bytes EntryAt(const AddressRange& tables, std::uintptr_t at) {
  constexpr std::uint32_t kMaxEntry = 1U << 20U;
  Bytes in = From(tables, at);
  const auto length = in.Fixed<std::uint32_t>();
  return in.Take(length <= kMaxEntry ? length : ~std::uint64_t{0});
}

struct Cie {
  std::uint64_t code_align = 1;
  std::int64_t data_align = 1;
  unsigned char pointer_encoding = 0;
  bool augmented = false;
  bool signal_frame = false;
  bool usable = false;
  Bytes program{};
};

void ReadAugmentation(Bytes text, Bytes data, Cie& cie) {
  for (unsigned char c = text.Byte(); c != '\0'; c = text.Byte()) {
    if (c == 'R') {
      cie.pointer_encoding = data.Byte();
    } else if (c == 'P') {
      data.Pointer(data.Byte() & 0x0fU);
    } else if (c == 'L') {
      data.Byte();
    } else if (c == 'S') {
      cie.signal_frame = true;
    } else {
      data.failed = true;
    }
  }
  cie.usable = cie.usable && !data.failed && !text.failed;
}

Cie ReadCie(Bytes in) {
  Cie cie;
  const auto id = in.Fixed<std::uint32_t>();  // of an FDE: not 0
  const unsigned char version = in.Byte();
  Bytes text = in;
  while (in.Byte() != 0) {
  }
  cie.code_align = in.Unsigned();
  cie.data_align = in.Signed();
  const std::uint64_t return_register = version == 1 ? in.Byte() : in.Unsigned();
  cie.usable = id == 0 && (version == 1 || version == 3) && return_register == kReturn;
  const unsigned char augmentation = text.Byte();
  cie.augmented = augmentation == 'z';
  if (cie.augmented) {
    const std::uint64_t size = in.Unsigned();
    ReadAugmentation(text, in.Take(size), cie);
  }
  cie.usable = cie.usable && !in.failed && (cie.augmented || augmentation == '\0');
  cie.program = in;
  return cie;
}

enum class Saved : std::uint8_t { kNo, kFromCfa, kFromFramePointer };

struct Row {
  unsigned cfa_register = kRsp;
  std::int64_t cfa_offset = 0;
  std::int64_t bp_offset = 0;
  std::int64_t ra_offset = 0;
  bool cfa_known = false;
  bool cfa_stored = false;
  Saved bp_saved = Saved::kNo;
  bool ra_saved = false;
  bool ra_undefined = false;
  bool unsupported = false;
};

class Program {
 public:
  Program(const Cie& cie, std::uintptr_t begin, std::uintptr_t address)
      : cie_(cie), location_(begin), address_(address) {}

  Row Run(Bytes instructions) {
    Execute(cie_.program);
    initial_ = row_;
    Execute(instructions);
    return row_;
  }

 private:
  static constexpr std::size_t kMaxRemembered = 8;

  void Execute(Bytes in) {
    while (in.at < in.end && !in.failed && location_ <= address_) {
      Step(in);
    }
    row_.unsupported = row_.unsupported || in.failed;
  }

  void SaveAt(std::uint64_t reg, std::int64_t offset) {
    if (reg == kRbp) {
      row_.bp_saved = Saved::kFromCfa;
      row_.bp_offset = offset;
    } else if (reg == kReturn) {
      row_.ra_saved = true;
      row_.ra_undefined = false;
      row_.ra_offset = offset;
    }
  }
  void Restore(std::uint64_t reg) {
    if (reg == kRbp) {
      row_.bp_saved = initial_.bp_saved;
      row_.bp_offset = initial_.bp_offset;
    } else if (reg == kReturn) {
      row_.ra_saved = initial_.ra_saved;
      row_.ra_offset = initial_.ra_offset;
      row_.ra_undefined = initial_.ra_undefined;
    }
  }
  void MarkUnsupported(std::uint64_t reg) {
    row_.unsupported = row_.unsupported || reg == kRbp || reg == kReturn;
  }
  void Advance(std::uint64_t delta) { location_ += delta * cie_.code_align; }
  // Both may be any number: it wraps around.
  [[nodiscard]] std::int64_t Scaled(std::uint64_t offset) const {
    return static_cast<std::int64_t>(offset * static_cast<std::uint64_t>(cie_.data_align));
  }
  std::int64_t SignedScaled(Bytes& in) const {
    return Scaled(static_cast<std::uint64_t>(in.Signed()));
  }
  void DefineCfa(std::uint64_t reg, std::int64_t offset) {
    row_.cfa_register = static_cast<unsigned>(reg);
    row_.cfa_offset = offset;
    row_.cfa_known = true;
    row_.cfa_stored = false;
  }
  void ForgetSaved(std::uint64_t reg) { row_.bp_saved = reg == kRbp ? Saved::kNo : row_.bp_saved; }

  // Of expressions, those that gcc writes for functions that align their stack: a register and an
  // offset is where the value is stored.
  struct Place {
    unsigned reg = 0;
    std::int64_t offset = 0;
    bool known = false;
  };
  static Place ReadPlace(Bytes& expression) {
    constexpr unsigned kBreg0 = 0x70;
    const unsigned code = expression.Byte();
    const std::int64_t offset = expression.Signed();
    return {code - kBreg0, offset,
            !expression.failed && (code == kBreg0 + kRbp || code == kBreg0 + kRsp)};
  }
  void DefineCfaBy(Bytes expression) {
    constexpr unsigned char kDeref = 0x06;
    const Place place = ReadPlace(expression);
    DefineCfa(place.reg, place.offset);
    row_.cfa_stored = true;
    row_.cfa_known = place.known && expression.Byte() == kDeref && expression.at == expression.end;
  }
  void SaveAtPlace(std::uint64_t reg, Bytes expression) {
    const Place place = ReadPlace(expression);
    if (reg == kRbp && place.known && place.reg == kRbp && expression.at == expression.end) {
      row_.bp_saved = Saved::kFromFramePointer;
      row_.bp_offset = place.offset;
    } else {
      MarkUnsupported(reg);
    }
  }

  void Step(Bytes& in) {
    const unsigned char code = in.Byte();
    const unsigned low = code & 0x3fU;
    switch (code >> 6U) {
      case 1:
        return Advance(low);
      case 2:
        return SaveAt(low, Scaled(in.Unsigned()));
      case 3:
        return Restore(low);
      default:
        return Extended(low, in);
    }
  }

  void Extended(unsigned code, Bytes& in) {
    switch (code) {
      case 0x00:  // nop
        return;
      case 0x01:  // set_loc
        location_ = in.Pointer(cie_.pointer_encoding);
        return;
      case 0x02:
        return Advance(in.Byte());
      case 0x03:
        return Advance(in.Fixed<std::uint16_t>());
      case 0x04:
        return Advance(in.Fixed<std::uint32_t>());
      case 0x0a:  // remember_state
        if (depth_ == kMaxRemembered) {
          row_.unsupported = true;
        } else {
          remembered_[depth_++] = row_;
        }
        return;
      case 0x0b:  // restore_state
        if (depth_ == 0) {
          row_.unsupported = true;
        } else {
          row_ = remembered_[--depth_];
        }
        return;
      default:
        return Registers(code, in);
    }
  }

  void Registers(unsigned code, Bytes& in) {
    if (code == 0x0e) {  // def_cfa_offset
      row_.cfa_offset = static_cast<std::int64_t>(in.Unsigned());
      return;
    }
    if (code == 0x13) {  // def_cfa_offset_sf
      row_.cfa_offset = SignedScaled(in);
      return;
    }
    if (code == 0x0f) {  // def_cfa_expression
      const std::uint64_t size = in.Unsigned();
      return DefineCfaBy(in.Take(size));
    }
    if (code == 0x2e) {  // GNU_args_size
      in.Unsigned();
      return;
    }
    const std::uint64_t reg = in.Unsigned();
    switch (code) {
      case 0x05:  // offset_extended
        return SaveAt(reg, Scaled(in.Unsigned()));
      case 0x11:  // offset_extended_sf
        return SaveAt(reg, SignedScaled(in));
      case 0x06:
        return Restore(reg);
      case 0x07:  // undefined
        if (reg == kReturn) {
          row_.ra_undefined = true;
        } else {
          ForgetSaved(reg);
        }
        return;
      case 0x08:  // same_value
        return ForgetSaved(reg);
      case 0x0c:
        return DefineCfa(reg, static_cast<std::int64_t>(in.Unsigned()));
      case 0x12:
        return DefineCfa(reg, SignedScaled(in));
      case 0x0d:  // def_cfa_register
        row_.cfa_register = static_cast<unsigned>(reg);
        return;
      case 0x09:  // register
      case 0x14:  // val_offset
        in.Unsigned();
        return MarkUnsupported(reg);
      case 0x15:
        in.Signed();
        return MarkUnsupported(reg);
      case 0x10: {  // expression
        const std::uint64_t size = in.Unsigned();
        return SaveAtPlace(reg, in.Take(size));
      }
      case 0x16: {  // val_expression
        const std::uint64_t size = in.Unsigned();
        in.Take(size);
        return MarkUnsupported(reg);
      }
      default:
        in.failed = true;
    }
  }

  const Cie& cie_;
  std::uintptr_t location_;
  std::uintptr_t address_;
  Row row_;
  Row initial_;
  Row remembered_[kMaxRemembered];
  std::size_t depth_ = 0;
};

// Where the entry for `address` is, by the sorted table of .eh_frame_hdr, or 0.
std::uintptr_t FindFde(const Object& object, std::uintptr_t address) {
  Bytes in = From(object.tables, object.eh_frame_hdr);
  const unsigned char version = in.Byte();
  const unsigned char frames_encoding = in.Byte();
  const unsigned char count_encoding = in.Byte();
  const unsigned char table_encoding = in.Byte();
  in.Pointer(frames_encoding);
  const auto count = in.Fixed<std::uint32_t>();
  const Bytes table = in.Take(std::uint64_t{count} * 8);
  if (version != 1 || count_encoding != kUnsigned4 || table_encoding != kDataRelative4 ||
      table.failed) {
    return 0;
  }
  const auto column = [&](std::size_t row, std::size_t offset) {
    return object.eh_frame_hdr + static_cast<std::uintptr_t>(std::intptr_t{
                                     Load<std::int32_t>(table.at + row * 8 + offset)});
  };
  std::size_t low = 0;
  std::size_t high = count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (column(middle, 0) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? 0 : column(low - 1, 4);
}

FrameRule ToRule(const Row& row) {
  constexpr std::int64_t kWord = 8;
  if (row.ra_undefined) {
    return {.kind = FrameRule::Kind::kOutermost};
  }
  const auto offset = static_cast<std::int32_t>(row.cfa_offset);
  const auto words = static_cast<std::int16_t>(row.bp_offset / kWord);
  if (row.unsupported || !row.cfa_known || !row.ra_saved || row.ra_offset != -8 ||
      (row.cfa_register != kRsp && row.cfa_register != kRbp) || offset != row.cfa_offset ||
      words * kWord != row.bp_offset) {
    return {};
  }
  const int how = (row.cfa_register == kRbp ? FrameRule::kFromFramePointer : 0) |
                  (row.cfa_stored ? FrameRule::kCfaStored : 0) |
                  (row.bp_saved != Saved::kNo ? FrameRule::kFramePointerSaved : 0) |
                  (row.bp_saved == Saved::kFromFramePointer ? FrameRule::kSavedFromItself : 0);
  return {FrameRule::Kind::kStep, static_cast<std::uint8_t>(how), words, offset};
}

}  // namespace

FrameRule FindRule(const Object& object, std::uintptr_t address) {
  Bytes fde = EntryAt(object.tables, FindFde(object, address));
  const auto here = reinterpret_cast<std::uintptr_t>(fde.at);
  const Cie cie = ReadCie(EntryAt(object.tables, here - fde.Fixed<std::uint32_t>()));
  const std::uintptr_t begin = fde.Pointer(cie.pointer_encoding);
  const std::uintptr_t size = fde.Pointer(cie.pointer_encoding & 0x0fU);
  if (cie.augmented) {
    const std::uint64_t augmentation = fde.Unsigned();
    fde.Take(augmentation);
  }
  if (!cie.usable || fde.failed || address - begin >= size) {
    return {};
  }
  if (cie.signal_frame) {
    return {.kind = FrameRule::Kind::kSignal};
  }
  return ToRule(Program(cie, begin, address).Run(fde));
}

}  // namespace memtool::capture
