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

// Reads .eh_frame of a loaded object: the linker made it, so it is trusted to be whole; every loop
// is bounded by the entry's own length all the same.
struct Bytes {
  const unsigned char* at = nullptr;
  const unsigned char* end = nullptr;
  bool failed = false;

  bool Has(std::size_t size) {
    if (static_cast<std::size_t>(end - at) < size) {
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
  void Skip(std::uint64_t size) {
    if (Has(size)) {
      at += size;
    }
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
    const unsigned relative = encoding & 0x70U;
    if (relative == 0x10) {
      value += reinterpret_cast<std::uintptr_t>(here);
    } else if (relative != 0) {
      failed = true;
    }
    return value;
  }
};

struct Cie {
  std::uint64_t code_align = 1;
  std::int64_t data_align = 1;
  unsigned char pointer_encoding = 0;
  bool augmented = false;
  bool usable = false;
  Bytes program{};
};

Cie ReadCie(const unsigned char* at) {
  Cie cie;
  const auto length = Load<std::uint32_t>(at);
  Bytes in{at + 4, at + 4 + length};
  in.Skip(4);
  const unsigned char version = in.Byte();
  const char* augmentation = reinterpret_cast<const char*>(in.at);
  in.Skip(strnlen(augmentation, static_cast<std::size_t>(in.end - in.at)) + 1);
  cie.code_align = in.Unsigned();
  cie.data_align = in.Signed();
  const std::uint64_t return_register = version == 1 ? in.Byte() : in.Unsigned();
  cie.usable = (version == 1 || version == 3) && return_register == kReturn;
  if (*augmentation == 'z') {
    cie.augmented = true;
    const std::uint64_t size = in.Unsigned();
    const unsigned char* program = in.at + size;
    for (const char* c = augmentation + 1; *c != '\0' && !in.failed; ++c) {
      if (*c == 'R') {
        cie.pointer_encoding = in.Byte();
      } else if (*c == 'P') {
        in.Pointer(static_cast<unsigned char>(in.Byte() & 0x0fU));
      } else if (*c == 'L') {
        in.Byte();
      } else {
        cie.usable = false;  // 'S' is a signal frame
      }
    }
    in.at = program;
  } else if (*augmentation != '\0') {
    cie.usable = false;
  }
  cie.usable = cie.usable && !in.failed && in.at <= in.end;
  cie.program = in;
  return cie;
}

struct Row {
  unsigned cfa_register = kRsp;
  std::int64_t cfa_offset = 0;
  std::int64_t bp_offset = 0;
  std::int64_t ra_offset = 0;
  bool cfa_known = false;
  bool bp_saved = false;
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

  void Saved(std::uint64_t reg, std::int64_t offset) {
    if (reg == kRbp) {
      row_.bp_saved = true;
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
  [[nodiscard]] std::int64_t Scaled(std::uint64_t offset) const {
    return static_cast<std::int64_t>(offset) * cie_.data_align;
  }
  void DefineCfa(std::uint64_t reg, std::int64_t offset) {
    row_.cfa_register = static_cast<unsigned>(reg);
    row_.cfa_offset = offset;
    row_.cfa_known = true;
  }

  void Step(Bytes& in) {
    const unsigned char code = in.Byte();
    const unsigned low = code & 0x3fU;
    switch (code >> 6U) {
      case 1:
        return Advance(low);
      case 2:
        return Saved(low, Scaled(in.Unsigned()));
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
      row_.cfa_offset = in.Signed() * cie_.data_align;
      return;
    }
    if (code == 0x0f) {  // def_cfa_expression
      row_.cfa_known = false;
      return in.Skip(in.Unsigned());
    }
    if (code == 0x2e) {  // GNU_args_size
      in.Unsigned();
      return;
    }
    const std::uint64_t reg = in.Unsigned();
    switch (code) {
      case 0x05:  // offset_extended
        return Saved(reg, Scaled(in.Unsigned()));
      case 0x11:  // offset_extended_sf
        return Saved(reg, in.Signed() * cie_.data_align);
      case 0x06:
        return Restore(reg);
      case 0x07:  // undefined
        if (reg == kReturn) {
          row_.ra_undefined = true;
        } else {
          row_.bp_saved = row_.bp_saved && reg != kRbp;
        }
        return;
      case 0x08:  // same_value
        row_.bp_saved = row_.bp_saved && reg != kRbp;
        return;
      case 0x0c:
        return DefineCfa(reg, static_cast<std::int64_t>(in.Unsigned()));
      case 0x12:
        return DefineCfa(reg, in.Signed() * cie_.data_align);
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
      case 0x10:  // expression
      case 0x16:
        in.Skip(in.Unsigned());
        return MarkUnsupported(reg);
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

// The entry for `address` through the sorted table of .eh_frame_hdr, or nullptr.
const unsigned char* FindFde(const unsigned char* hdr, std::uintptr_t address) {
  if (hdr == nullptr || hdr[0] != 1 || hdr[2] != kUnsigned4 || hdr[3] != kDataRelative4) {
    return nullptr;
  }
  Bytes in{hdr + 4, hdr + 32};
  in.Pointer(hdr[1]);
  const auto count = in.Fixed<std::uint32_t>();
  if (in.failed || count == 0) {
    return nullptr;
  }
  const auto base = reinterpret_cast<std::uintptr_t>(hdr);
  const unsigned char* table = in.at;
  const auto start = [table, base](std::size_t row) {
    return base + static_cast<std::uintptr_t>(std::intptr_t{Load<std::int32_t>(table + row * 8)});
  };
  std::size_t low = 0;
  std::size_t high = count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (start(middle) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? nullptr : hdr + std::intptr_t{Load<std::int32_t>(table + (low - 1) * 8 + 4)};
}

FrameRule ToRule(const Row& row) {
  FrameRule rule;
  if (row.ra_undefined) {
    rule.kind = FrameRule::Kind::kOutermost;
    return rule;
  }
  constexpr std::int64_t kMax = 1 << 30;
  const bool plain = !row.unsupported && row.cfa_known && row.ra_saved && row.ra_offset == -8 &&
                     (row.cfa_register == kRsp || row.cfa_register == kRbp) &&
                     row.cfa_offset > -kMax && row.cfa_offset < kMax;
  if (plain) {
    rule.kind = FrameRule::Kind::kStep;
    rule.from_frame_pointer = row.cfa_register == kRbp;
    rule.cfa_offset = static_cast<std::int32_t>(row.cfa_offset);
    rule.frame_pointer_saved = row.bp_saved;
    rule.saved_at = static_cast<std::int32_t>(row.bp_offset);
  }
  return rule;
}

}  // namespace

FrameRule FindRule(const Object& object, std::uintptr_t address) {
  const unsigned char* fde = FindFde(object.eh_frame_hdr, address);
  if (fde == nullptr) {
    return {};
  }
  const auto length = Load<std::uint32_t>(fde);
  if (length == 0 || length == 0xffffffffU) {
    return {};
  }
  const Cie cie = ReadCie(fde + 4 - Load<std::uint32_t>(fde + 4));
  Bytes in{fde + 8, fde + 4 + length};
  const std::uintptr_t begin = in.Pointer(cie.pointer_encoding);
  const std::uintptr_t size = in.Pointer(cie.pointer_encoding & 0x0fU);
  if (!cie.usable || in.failed || address - begin >= size) {
    return {};
  }
  if (cie.augmented) {
    in.Skip(in.Unsigned());
  }
  return ToRule(Program(cie, begin, address).Run(in));
}

}  // namespace memtool::capture
