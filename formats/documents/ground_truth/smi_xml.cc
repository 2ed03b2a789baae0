// nvidia-smi -q -x, through expat. A DOCTYPE is accepted and never loaded; entities are refused.
#include <expat.h>
#include <fmt/format.h>

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "documents/ground_truth/forms.h"
#include "documents/ground_truth/text.h"

namespace memtool::formats::device_report {

namespace {

constexpr std::size_t kDepth = 64;  // the tool's own files go 6 deep

class SmiXml {
 public:
  explicit SmiXml(XML_Parser parser) : parser_(parser) {
    XML_SetUserData(parser, this);
    XML_SetElementHandler(parser, &OnStart, &OnEnd);
    XML_SetCharacterDataHandler(parser, &OnText);
    XML_SetEntityDeclHandler(parser, &OnEntity);
  }

  DeviceReport Parse(std::string_view text) {
    const auto status = XML_Parse(parser_, text.data(), static_cast<int>(text.size()), 1);
    if (thrown_) {
      std::rethrow_exception(thrown_);
    }
    if (XML_GetErrorCode(parser_) == XML_ERROR_NO_MEMORY) {
      throw std::bad_alloc();
    }
    if (status != XML_STATUS_OK) {
      Refuse(Here(), why_.empty() ? XML_ErrorString(XML_GetErrorCode(parser_)) : why_,
             "write the file again with nvidia-smi -q -x");
    }
    Finish();
    return std::move(report_);
  }

 private:
  // A value with its place; looked at after expat has returned.
  struct Field {
    std::vector<std::string> path;
    std::string text;
    Place place;
  };

  // Runs what a handler does. Nothing may be thrown through expat: it is thrown again by Parse().
  template <class Work>
  void Handle(const Work& work) {
    if (thrown_) {
      return;
    }
    try {
      work();
    } catch (const std::bad_alloc&) {
      thrown_ = std::current_exception();
      XML_StopParser(parser_, XML_FALSE);
    }
  }

  [[nodiscard]] Place Here() const {
    return {static_cast<std::size_t>(XML_GetCurrentLineNumber(parser_)),
            static_cast<std::size_t>(XML_GetCurrentColumnNumber(parser_)) + 1};
  }
  void Stop(std::string why) {
    why_ = std::move(why);
    XML_StopParser(parser_, XML_FALSE);
  }

  static SmiXml& Of(void* self) { return *static_cast<SmiXml*>(self); }
  static void OnStart(void* self, const XML_Char* name, const XML_Char** attributes) {
    Of(self).Handle([&] { Of(self).Start(name, attributes); });
  }
  static void OnEnd(void* self, const XML_Char* /*name*/) {
    Of(self).Handle([&] { Of(self).End(); });
  }
  static void OnText(void* self, const XML_Char* text, int size) {
    Of(self).Handle([&] { Of(self).text_.append(text, static_cast<std::size_t>(size)); });
  }
  // NOLINTNEXTLINE(readability-function-size): expat's signature
  static void OnEntity(void* self, const XML_Char* name, int /*parameter*/, const XML_Char*, int,
                       const XML_Char*, const XML_Char*, const XML_Char*, const XML_Char*) {
    Of(self).Handle([&] {
      Of(self).Stop(
          fmt::format("the entity '{}' is defined; no file of nvidia-smi does that", name));
    });
  }

  void Start(const XML_Char* name, const XML_Char** attributes) {
    if (path_.size() >= kDepth) {
      Stop(fmt::format("elements are nested deeper than {}", kDepth));
      return;
    }
    path_.emplace_back(name);
    text_.clear();
    if (path_.size() == 2 && path_.back() == "gpu") {
      std::string id;
      for (; *attributes != nullptr; attributes += 2) {
        id = std::string_view(attributes[0]) == "id" ? attributes[1] : id;
      }
      fields_.push_back({path_, std::move(id), Here()});
    } else if (path_.size() > 2 &&
               (path_.back() == "process_info" || path_.back() == "mig_device")) {
      fields_.push_back({path_, {}, Here()});
    }
  }
  void End() {
    if (AcceptedKinds()) {
      fields_.push_back({path_, std::string(Trimmed(text_)), Here()});
    }
    path_.pop_back();
    text_.clear();
  }

  [[nodiscard]] bool AcceptedKinds() const {
    if (path_.size() < 2) {
      return false;
    }
    const auto& parent = path_[path_.size() - 2];
    return parent == "fb_memory_usage" || parent == "process_info" ||
           path_.back() == "attached_gpus" || (parent == "mig_device" && path_.back() == "index");
  }

  void Finish() {
    report_.form = "nvidia-smi-xml";
    report_.display = "nvidia-smi -q -x";
    std::optional<std::int64_t> attached;
    for (auto& field : fields_) {
      if (field.path.back() == "attached_gpus") {
        attached = WholeNumber(field.text);
      } else {
        Take(field);
      }
    }
    if (root_gpus_ == 0) {
      Refuse({}, "there is no <gpu> in <nvidia_smi_log>");
    }
    // With -i the file has only some of the GPUs, and their position in it is not their number.
    if (attached != root_gpus_) {
      report_.notes.emplace_back("not all attached GPUs are in the file: choose by bus id");
      for (auto& reading : report_.readings) {
        reading.gpu.reset();
      }
    }
  }

  void Take(const Field& field) {
    const auto& name = field.path.back();
    const auto& parent = field.path[field.path.size() - 2];
    if (field.path.size() == 2) {
      gpu_ = field.text;
      device_ = Add({.scope = ReportScope::kDevice, .gpu = root_gpus_++, .gpu_name = gpu_});
      row_ = device_;
    } else if (name == "mig_device") {
      row_ = Add({.scope = ReportScope::kDevice, .gpu_name = gpu_ + " MIG"});
    } else if (name == "process_info") {
      row_ = Add({.scope = ReportScope::kProcess, .gpu = root_gpus_ - 1, .gpu_name = gpu_});
    } else if (row_ < report_.readings.size()) {
      const bool of_gpu = parent == "fb_memory_usage" && field.path.size() == 4;
      SetField(report_.readings[of_gpu ? device_ : row_], name, field);
    }
  }
  std::size_t Add(DeviceReading reading) {
    report_.readings.push_back(std::move(reading));
    return report_.readings.size() - 1;
  }
  static void SetField(DeviceReading& reading, const std::string& name, const Field& field) {
    const auto amount = [&] { return ReadAmount(field.text, "MiB", field.place); };
    if (name == "used" || name == "used_memory") {
      SetUsed(reading, amount(), kMiB / 2);
    } else if (name == "total") {
      reading.total = amount().bytes;
    } else if (name == "reserved") {
      reading.reserved = amount().bytes;
    } else if (name == "free") {
      reading.free = amount().bytes;
    } else if (name == "pid") {
      reading.pid = WholeNumber(field.text);
    } else if (name == "process_name") {
      reading.process = field.text;
    } else if (name == "index" || (name == "gpu_instance_id" && WholeNumber(field.text))) {
      reading.gpu_name +=
          fmt::format(" {} {}", name == "index" ? "device" : "instance", field.text);
      if (reading.scope == ReportScope::kProcess) {
        reading.gpu.reset();
      }
    }
  }

  XML_Parser parser_;
  DeviceReport report_;
  std::vector<std::string> path_;
  std::string text_;
  std::string why_;
  std::exception_ptr thrown_;
  std::vector<Field> fields_;
  std::string gpu_;
  std::int64_t root_gpus_ = 0;
  std::size_t device_ = 0;
  std::size_t row_ = 0;
};

struct FreeParser {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};

}  // namespace

DeviceReport ReadSmiXml(std::string_view text) {
  const std::unique_ptr<std::remove_pointer_t<XML_Parser>, FreeParser> parser(
      XML_ParserCreate("UTF-8"));
  if (!parser) {
    throw std::bad_alloc();
  }
  return SmiXml(parser.get()).Parse(text);
}

}  // namespace memtool::formats::device_report
