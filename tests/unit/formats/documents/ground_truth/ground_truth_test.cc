#include <gtest/gtest.h>

#include <filesystem>
#include <span>
#include <string>

#include "memtool/formats/device_report.h"
#include "memtool/formats/open.h"
#include "support/files.h"

namespace memtool::formats {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

const OpenOptions kOnlyDeviceReport{.accepted = {.recordings = false, .device_report = true}};

Result<DeviceReport> Truth(Result<Document> document) {
  MEMTOOL_TRY(document);
  return document->device_report();
}

Result<DeviceReport> Parse(const std::string& text) {
  return Truth(Open(MakeMemorySource(std::as_bytes(std::span(text))), "in", kOnlyDeviceReport));
}

DeviceReport ReadReport(const std::string& name) {
  auto report = Truth(Open((test::TestFolder("ground_truth") / name).string(), kOnlyDeviceReport));
  EXPECT_TRUE(report) << name << (report ? "" : ToString(report.error()));
  return report ? *report : DeviceReport{};
}

std::string Why(const std::string& text) {
  const auto report = Parse(text);
  return report ? "read as " + report->form : ToString(report.error());
}

// `used` of the row chosen, or -1.
std::int64_t Used(const std::string& name, const ReportChoice& choice = {}) {
  const auto reading = ChooseDeviceReading(ReadReport(name), choice);
  return reading ? reading->used.value_or(-2) : -1;
}

// A name with commas whose last piece is blank: found by flipping bytes.
TEST(DeviceReport, SmiCsvBlankPieceOfAName) {
  const auto report = Parse(
      "pid, process_name, used_gpu_memory [MiB]\n"
      "10, python, a, , 164 MiB\n");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->readings.at(0).process, "python, a, ");
  const std::string why = Why("pid, process_name, used_gpu_memory [MiB]\n10, python, , [I64 MiB\n");
  EXPECT_NE(why.find("[I64 MiB"), std::string::npos) << why;
}

// As Python prints dicts, which is what people paste.
TEST(DeviceReport, PrintedByPython) {
  const auto used = [](const std::string& text) {
    const auto report = Parse(text);
    return report && !report->readings.empty() ? report->readings.front().used.value_or(-2) : -1;
  };
  EXPECT_EQ(used("{'num_allocs': 3, 'bytes_in_use': 7, 'name': 'it\\'s \"x\"', 'none': None}"), 7);
  EXPECT_EQ(used("OrderedDict([('active.all.current', 3), ('reserved_bytes.all.current', 9), "
                 "('ok', True)])"),
            9);
  EXPECT_EQ(used("OrderedDict({'reserved_bytes.all.current': 5, 'x': nan})"), 5);
  EXPECT_EQ(used("[{'bytes_in_use': 1, 'of': [1, 2]}, {'bytes_in_use': 2}]"), 1);
  EXPECT_NE(Why("{'bytes_in_use': 7, 'cut").find("was the file cut?"), std::string::npos);
  EXPECT_NE(Why("OrderedDict([('bytes_in_use', (('").find("not JSON"), std::string::npos);
}

TEST(DeviceReport, SmiCsv) {
  EXPECT_EQ(Used("apps_commas.csv", {.pid = 10}), 164 * kMiB);
  EXPECT_EQ(ReadReport("apps_commas.csv").readings.at(0).process, "python, a, b");
  EXPECT_EQ(Used("apps_commas.csv", {.pid = 11}), -1);
  EXPECT_EQ(Used("apps_commas.csv"), -1);
  EXPECT_EQ(Used("query_gpu.csv", {.gpu = "0"}), 14210 * kMiB);
  EXPECT_EQ(Used("query_gpu.csv", {.gpu = "1"}), -1);
}

TEST(DeviceReport, OtherForms) {
  EXPECT_EQ(Used("smi.xml"), 7500 * kMiB);
  EXPECT_EQ(Used("smi.xml", {.gpu = "0"}), -1);
  EXPECT_EQ(Used("smi_q.txt", {.pid = 10}), 700 * kMiB);
  EXPECT_EQ(Used("smi_q.txt", {.gpu = "00000000:01:00.0"}), 800 * kMiB);
  EXPECT_EQ(Used("dcgm.prom", {.gpu = "0"}), 4845 * kMiB);
  EXPECT_EQ(Used("dcgm.prom", {.gpu = "1"}), -1);
  EXPECT_EQ(Used("dcgm.prom", {.gpu = "2"}), -1);
  EXPECT_EQ(ReadReport("dcgm.prom").readings.at(0).free, 75000 * kMiB);
  EXPECT_EQ(Used("dmon.txt", {.gpu = "0"}), 4845 * kMiB);
  EXPECT_EQ(Used("dmon.txt", {.gpu = "1"}), -1);
  EXPECT_EQ(Used("dmon.txt", {.gpu = "GPU-I 3"}), 240 * kMiB);
  EXPECT_EQ(Used("rocm.json"), 10960896);
  EXPECT_EQ(Used("amd.json", {.pid = 10}), 4096);
  EXPECT_EQ(Used("amd.json", {.gpu = "0"}), 283 * kMiB);
  EXPECT_EQ(Used("torch.json"), 2097152);
  EXPECT_EQ(Used("torch_nested.json"), 2097152);
  EXPECT_EQ(ReadReport("torch_nested.json").readings.at(0).peak, 300);
  EXPECT_EQ(Used("jax.json"), 7);
  EXPECT_EQ(Used("jax_null.json"), -1);
  EXPECT_EQ(Used("number.txt"), std::int64_t{11} << 30U);
}

// Two pods share a GPU: what each uses is not a figure of the device.
TEST(DeviceReport, PodsOfOneGpu) {
  const DeviceReport report = ReadReport("dcgm_pods.prom");
  ASSERT_EQ(report.readings.size(), 3U);
  EXPECT_EQ(report.readings[0].pod, "team/train-0/main");
  EXPECT_EQ(report.readings[0].scope, ReportScope::kProcess);
  EXPECT_FALSE(report.readings[2].used) << "of the device";
  EXPECT_EQ(report.readings[2].free, 74000 * kMiB);
  EXPECT_EQ(report.readings[2].total, 81559 * kMiB);
  EXPECT_EQ(Used("dcgm_pods.prom", {.gpu = "team/train-1/main"}), 1024 * kMiB);
  const auto both = ChooseDeviceReading(report, {});
  ASSERT_FALSE(both);
  EXPECT_NE(ToString(both.error()).find("the name of a pod: GPU 0 (GPU-a), pod team/train-0/main"),
            std::string::npos)
      << ToString(both.error());
  EXPECT_EQ(Used("dcgm_pod.prom"), 4845 * kMiB);
  EXPECT_EQ(ReadReport("dcgm_pod.prom").readings.at(0).scope, ReportScope::kProcess);
}

TEST(DeviceReport, AmdSmiOf2026) {
  const auto idle = ChooseDeviceReading(ReadReport("amd_idle.json"), {});
  ASSERT_FALSE(idle);
  EXPECT_NE(ToString(idle.error()).find("no process was running"), std::string::npos);
  EXPECT_EQ(Used("amd_watch.json"), 283 * kMiB);
}

TEST(DeviceReport, ErrorsListWhatIsThere) {
  const auto none = ChooseDeviceReading(ReadReport("apps_commas.csv"), {.pid = 99});
  ASSERT_FALSE(none);
  EXPECT_NE(ToString(none.error()).find("pid 10 (python, a, b): 164.00 MiB"), std::string::npos);
  EXPECT_NE(ToString(none.error()).find("container"), std::string::npos);
}

TEST(DeviceReport, NotAvailableIsNeverZero) {
  for (const std::string word :
       {"[N/A]", "N/A", "[Not Supported]", "[Insufficient Permissions]", "[Unknown Error]"}) {
    const auto row = Parse("pid, used_gpu_memory [MiB]\n10, " + word + "\n");
    ASSERT_TRUE(row) << word;
    const auto chosen = ChooseDeviceReading(*row, {.pid = 10});
    ASSERT_FALSE(chosen) << word;
    EXPECT_NE(ToString(chosen.error()).find(word), std::string::npos);
  }
}

TEST(DeviceReport, OnePidOnSeveralGpusNeedsTheGpu) {
  const auto report =
      Parse("gpu_uuid, pid, used_gpu_memory [MiB]\nGPU-a, 10, 1 MiB\nGPU-b, 10, 2 MiB\n");
  ASSERT_TRUE(report);
  const auto several = ChooseDeviceReading(*report, {.pid = 10});
  ASSERT_FALSE(several);
  EXPECT_NE(ToString(several.error()).find("--gpu"), std::string::npos);
  EXPECT_EQ(ChooseDeviceReading(*report, {.pid = 10, .gpu = "GPU-b"}).value().used, 2 * kMiB);
}

TEST(DeviceReport, Hostile) {
  EXPECT_NE(Why("").find("empty"), std::string::npos);
  EXPECT_NE(Why("pid, used_gpu_memory [MiB]\n12\n").find("line 2, column 1"), std::string::npos);
  EXPECT_NE(Why("pid, used_gpu_memory [MiB]\n1, 2, 3\n").find("3 fields"), std::string::npos);
  EXPECT_NE(Why("pid, used_gpu_memory [MiB]\n1, 9e18 MiB\n").find("not an amount"),
            std::string::npos);
  EXPECT_NE(Why("pid, \xff\n").find("line 1, column 6"), std::string::npos);
  EXPECT_NE(Why("{\"a\":\n").find("not JSON"), std::string::npos);
  EXPECT_NE(Why(std::string(1000000, '[')).find("not JSON"), std::string::npos);
  EXPECT_NE(Why("<nvidia_smi_log><gpu>").find("line 1"), std::string::npos);
  EXPECT_NE(Why("<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>").find("entity"), std::string::npos);
  std::string deep = "<nvidia_smi_log>";
  for (int i = 0; i < 1000; ++i) {
    deep += "<a>";
  }
  EXPECT_NE(Why(deep).find("deeper"), std::string::npos);
  EXPECT_NE(Why("<?xml version=\"1.0\"?><process_info/>").find("no <gpu>"), std::string::npos);
  EXPECT_NE(Why(std::string(100000, '[') + std::string(100000, ']'))
                .find("without any known memory counters"),
            std::string::npos);
  EXPECT_NE(Why("| NVIDIA-SMI 535 |\n").find("--query-compute-apps"), std::string::npos);
}

// Every cut of every sample is an answer, never a crash.
TEST(DeviceReport, Cuts) {
  for (const auto& entry : std::filesystem::directory_iterator(test::TestFolder("ground_truth"))) {
    if (!entry.is_regular_file()) {
      continue;
    }
    const auto bytes = test::ReadFile(entry.path());
    const std::string text(test::AsView(bytes));
    for (std::size_t size = 0; size < text.size(); ++size) {
      const auto report = Parse(text.substr(0, size));
      EXPECT_TRUE(report || !report.error().message.empty());
    }
  }
}

TEST(DeviceReport, RealSamples) {
  const auto folder = test::ReferenceFolder("ground-truth");
  if (!folder) {
    GTEST_SKIP() << "MEMTOOL_REFERENCE_DATA names no folder with real files";
  }
  const auto used = [&](const char* name, const ReportChoice& choice) -> std::int64_t {
    const auto report = Truth(Open((*folder / name).string(), kOnlyDeviceReport));
    EXPECT_TRUE(report) << name << (report ? "" : ToString(report.error()));
    const auto reading = report ? ChooseDeviceReading(*report, choice) : Fail(report.error());
    return reading ? reading->used.value_or(-2) / kMiB : -1;
  };
  for (const char* name :
       {"compute_apps.csv", "compute_apps_noheader.csv", "compute_apps_noheader_nounits.csv"}) {
    EXPECT_EQ(used(name, {.pid = 3664501}), 2804) << name;
    EXPECT_EQ(used(name, {}), -1) << name;
  }
  EXPECT_EQ(used("compute_apps_none.csv", {}), -1);
  EXPECT_EQ(used("compute_apps_uuid.csv", {.pid = 1328668}), 130044);
  EXPECT_EQ(used("dcgm_exporter.prom", {}), 4845);
  EXPECT_EQ(used("q_x_min.xml", {}), 7500);
  EXPECT_EQ(used("q_x_min.xml", {.gpu = "0"}), 8000);
  EXPECT_EQ(used("query_gpu.csv", {.gpu = "1"}), 0);
  EXPECT_EQ(used("query_gpu_named.csv", {.gpu = "NVIDIA T4"}), 14210);
}

TEST(DeviceReport, TablesOfNvidiaSmiAndHlSmi) {
  EXPECT_EQ(Used("smi_table.txt", {.gpu = "0"}), 30211 * kMiB);
  EXPECT_EQ(Used("smi_table.txt", {.gpu = "1"}), 10240 * kMiB);  // not BAR1 of its instance
  EXPECT_EQ(Used("smi_table.txt", {.gpu = "GPU 1 MIG 0"}), 10193 * kMiB);
  EXPECT_EQ(Used("smi_table.txt", {.pid = 4321}), 29800 * kMiB);
  EXPECT_EQ(Used("smi_table.txt", {.pid = 4400}), -1);  // N/A
  const DeviceReport table = ReadReport("smi_table.txt");
  EXPECT_EQ(table.readings.size(), 6U);
  EXPECT_EQ(table.readings[3].process, "python train.py");
  EXPECT_EQ(Used("hl_smi.txt"), 24064 * kMiB);  // the one process
  EXPECT_EQ(Used("hl_smi.txt", {.gpu = "1"}), 768 * kMiB);
  EXPECT_EQ(Used("hl_query.csv", {.gpu = "0"}), 24832 * kMiB);
}

TEST(DeviceReport, AnOldTableWithoutInstances) {
  const auto report = Parse(
      "| NVIDIA-SMI 418.87    Driver Version: 418.87    CUDA Version: 10.1     |\n"
      "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |\n"
      "|   0  Tesla V100  Off          | 00000000:00:1E.0 Off |                    0 |\n"
      "| N/A   40C    P0    38W / 300W |   1164MiB / 16130MiB |      2%      Default |\n"
      "| Processes:                                                       GPU Memory |\n"
      "|    0      1234      C   python                                      1153MiB |\n"
      "|  No running processes found                                                 |\n");
  ASSERT_TRUE(report);
  ASSERT_EQ(report->readings.size(), 2U);
  EXPECT_EQ(report->readings[0].total, 16130 * kMiB);
  EXPECT_EQ(report->readings[1].pid, 1234);
}

TEST(DeviceReport, TheHighestOfALoop) {
  EXPECT_EQ(Used("xpu_dump.csv", {.gpu = "0"}), 23085711360);  // 22,016.25 MiB
  EXPECT_EQ(Used("neuron.jsonl"), 782494976);
  EXPECT_EQ(Used("neuron.jsonl", {.gpu = "0"}), 412219008);
  EXPECT_EQ(ReadReport("neuron.jsonl").notes.size(), 1U);  // its end is cut
}

TEST(DeviceReport, XpuStatsHasTilesOfADevice) {
  EXPECT_EQ(Used("xpu_stats.txt", {.gpu = "0"}), 60500 * kMiB);
  EXPECT_EQ(Used("xpu_stats.txt", {.gpu = "1"}), 24 * kMiB);
  EXPECT_EQ(Used("xpu_stats.json", {.gpu = "2"}), 60500 * kMiB + kMiB / 2);
}

TEST(DeviceReport, TpuInfo) {
  EXPECT_EQ(Used("tpu_info.txt", {.gpu = "0"}), 19810536653);  // 18.45 GiB
  EXPECT_EQ(Used("tpu_info.txt", {.gpu = "1"}), -1);           // N/A
  EXPECT_EQ(ReadReport("tpu_info.txt").readings.size(), 2U);
}

}  // namespace
}  // namespace memtool::formats
