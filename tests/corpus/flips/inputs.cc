#include "inputs.h"

#include <algorithm>
#include <string>

#include "memtool/formats/open.h"
#include "memtool/formats/reader.h"

namespace memtool::flips {

namespace {

namespace fs = std::filesystem;

// The smallest file of the reader's own folder that it reads.
Format Smallest(const formats::Reader& reader, const fs::path& folder, const fs::path& testdata) {
  fs::path smallest;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() ||
        (!smallest.empty() && entry.file_size() >= fs::file_size(smallest))) {
      continue;
    }
    const auto recording = formats::OpenRecording(entry.path(), {});
    if (recording && recording->metadata.format == reader.name()) {
      smallest = entry;
    }
  }
  return {std::string(reader.name()), smallest.lexically_relative(testdata)};
}

}  // namespace

std::vector<Format> Formats(const fs::path& testdata) {
  std::vector<Format> formats{
      {"pprof", "pprof/forms/packed.pb pprof/forms/unpacked.pb"},
      {"pprof, gzip", "pprof/series/timed_a.pb.gz pprof/jax_leak/memory1.prof"},
      {"pprof, zlib", "pprof/forms/packed.pb.zz"},
      {"pprof, zstd", "pprof/forms/packed.pb.zst"},
      {"torch pickle",
       "torch/small/list.pickle torch/small/proto2.pickle torch/small/native.pickle"},
      {"torch pickle, gzip", "torch/small/packed.pickle.gz"},
      {"torch JSON", "torch/states/unlisted.json torch/fresh/annotated.json"},
      {"torch HTML", "torch/small/page.html"},
      {"torch plots", "torch/plots/trace_plot.html torch/plots/segment_plot.html"},
      {"xplane", "xplane/program.xplane.pb xplane/strange.xplane.pb"},
      {"trace-json", "xplane/train.trace.json"},
      {"xplane, gzip", "xplane/packed.xplane.pb.gz"},
      {"mxnet CSV", "mxnet/forms/official.csv mxnet/forms/echo_mib.csv mxnet/forms/scoped.csv"},
      {"mxnet log", "mxnet/sockeye/memory.log mxnet/forms/unknown_tags_echo.log"},
      {"memtool",
       "memtool_file/snapshot.memtool memtool_file/log.memtool memtool_file/profile.memtool"},
      {"memtool, good sums",
       "memtool_file/snapshot.memtool memtool_file/log.memtool memtool_file/profile.memtool "
       "memtool_file/plan.memtool",
       "input", true},
      {"digests", "ranks/small.jsonl"},
      {"hlo", "hlo/small/program.hlo.pb hlo/small/grown.hlo.pb"},
      {"hlo JSON", "hlo/small/underscores.json hlo/hostile/circle.json"},
      {"hlo text",
       "hlo/text/module_0003.jit_f.sm_8.0_gpu_after_optimizations-buffer-assignment.txt "
       "hlo/text/module_0003.jit_step.sm_8.0_gpu_after_optimizations-memory-usage-report.txt"},
      {"oom text",
       "oom_text/torch_2.8.log oom_text/tensorflow.log oom_text/xla_pool.log "
       "oom_text/xla_tpu_pieces.log oom_text/libraries.log oom_text/host.log"},
      {"ground truth",
       "ground_truth/smi.xml ground_truth/smi_q.txt ground_truth/query_gpu.csv "
       "ground_truth/apps_commas.csv ground_truth/dmon.txt ground_truth/dcgm_pod.prom "
       "ground_truth/amd.json ground_truth/rocm.json ground_truth/torch_nested.json "
       "ground_truth/jax.json ground_truth/number.txt ground_truth/smi_table.txt "
       "ground_truth/hl_smi.txt ground_truth/xpu_dump.csv ground_truth/tpu_info.txt "
       "ground_truth/xpu_stats.txt ground_truth/xpu_stats.json ground_truth/neuron.jsonl"},
      {"metrics",
       "metrics/megatron.tfevents metrics/titan.tfevents metrics/tensorboardx.tfevents "
       "metrics/run.wandb metrics/metrics.csv "
       "metrics/metrics.jsonl metrics/all_results.json metrics/trainer_state.json "
       "metrics/memory_profile.json"},
      {"keywords", "mxnet/sockeye/SETME.yaml mxnet/sockeye/both.yaml"},
      {"frames", "torch/blame/home/.config/memtool/frames.yaml", "memtool/frames.yaml"},
  };
  for (const formats::Reader* reader : formats::Readers()) {
    const std::string folder = std::string(reader->name()) + '/';
    const bool listed = std::any_of(
        formats.begin(), formats.end(),
        [&folder](const Format& format) { return format.files.find(folder) != std::string::npos; });
    // SQLite's errors name no place in a file; corpus.nsys and corpus.rocm damage databases.
    const bool database = reader->name() == "nsys" || reader->name() == "rocpd";
    if (!listed && !database && fs::is_directory(testdata / folder)) {
      formats.push_back(Smallest(*reader, testdata / folder, testdata));
    }
  }
  return formats;
}

}  // namespace memtool::flips
