#include "inputs.h"

#include <array>

namespace memtool::flips {

std::span<const Format> Formats() {
  static constexpr auto kFormats = std::to_array<Format>({
      {"pprof", "pprof/forms/packed.pb pprof/forms/unpacked.pb"},
      {"pprof, gzip", "pprof/series/timed_a.pb.gz pprof/jax_leak/memory1.prof"},
      {"pprof, zlib", "pprof/forms/packed.pb.zz"},
      {"pprof, zstd", "pprof/forms/packed.pb.zst"},
      {"torch pickle",
       "torch/small/list.pickle torch/small/proto2.pickle torch/small/native.pickle"},
      {"torch pickle, gzip", "torch/small/packed.pickle.gz"},
      {"torch JSON", "torch/states/unlisted.json torch/fresh/annotated.json"},
      {"torch HTML", "torch/small/page.html"},
      {"torch_timeline", "torch_timeline/raw.json"},
      {"kineto", "kineto/bare.json"},
      {"xplane", "xplane/program.xplane.pb xplane/strange.xplane.pb"},
      {"trace-json", "xplane/train.trace.json"},
      {"xplane, gzip", "xplane/packed.xplane.pb.gz"},
      {"mxnet CSV", "mxnet/forms/official.csv mxnet/forms/echo_mib.csv mxnet/forms/scoped.csv"},
      {"mxnet log", "mxnet/sockeye/memory.log mxnet/forms/unknown_tags_echo.log"},
      {"capture_log", "capture_log/join/log.mtcap"},
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
       "ground_truth/jax.json ground_truth/number.txt"},
      {"keywords", "mxnet/sockeye/SETME.yaml mxnet/sockeye/both.yaml"},
      {"frames", "torch/blame/home/.config/memtool/frames.yaml", "memtool/frames.yaml"},
  });
  return kFormats;
}

std::span<const Line> Lines() {
  static constexpr auto kLines = std::to_array<Line>({
      {"top FILE"},
      {"top --strict --by line --cum --format json FILE"},
      {"top --frames all --by stack --format csv FILE"},
      {"top --at peak FILE", true},
      {"top --by bucket FILE", true},
      {"top --expected-sum @FILE OTHER", true},
      {"top --print-frames OTHER"},
      {"top --by line OTHER"},
      {"diff WHOLE FILE", true},
      {"diff FILE OTHER", true},
      {"diff --base-at start --at end --format json FILE", true},
      {"buckets --expected-sum 1GiB FILE", true},
      {"buckets --keywords FILE OTHER"},
      {"buckets --keywords FILE --multi all --entries 2 --format json OTHER"},
      {"account FILE", true},
      {"account --format json WHOLE FILE", true},
      {"account --capacity 1GiB --expected-sum @FILE OTHER", true},
      {"tags FILE"},
      {"tree FILE"},
      {"tree --frames all --format json FILE"},
      {"peek a FILE"},
      {"traces FILE"},
      {"traces --frames all --format jsonl FILE"},
      {"timeline FILE", true},
      {"timeline --format json --axis time FILE", true},
      {"steps FILE", true},
      {"steps --format json FILE", true},
      {"diff --align WHOLE FILE", true},
      {"diff --align --format json FILE OTHER", true},
      {"segments FILE", true},
      {"segments --at peak --format json FILE", true},
      {"events FILE", true},
      {"events --summary --format json FILE", true},
      {"events --stacks --from 1 --to 5 FILE", true},
      {"oom FILE"},
      {"ranks --all FILE"},
      {"ranks --format json WHOLE FILE"},
      {"index --strict FILE"},
      {"check --write-baseline - FILE"},
      {"check --baseline FILE OTHER"},
      {"check --budget FILE --format json OTHER"},
      {"whatif FILE"},
      {"whatif --limit 100MiB --format json FILE"},
      {"segments --conf expandable_segments:True FILE"},
      {"fit --x 1,2 WHOLE FILE", true},
      {"oom --format json WHOLE FILE", true},
      {"leaks WHOLE FILE", true},
      {"leaks --steps 3 FILE", true},
      {"info FILE"},
      {"info --strict --format json FILE"},
      {"dot FILE"},
      {"svg FILE"},
      {"web FILE"},
      {"raw FILE"},
      {"flame FILE"},
      {"flame --format json FILE"},
      {"convert --to json FILE"},
      {"convert --to folded FILE"},
      {"convert --to pprof FILE"},
      {"convert --to memtool FILE"},
      {"merge FILE WHOLE", true},
      {"cut --from event:1 FILE", true},
      {"cut --redact FILE", true},
      {"pprof -top FILE"},
      {"pprof -dot -lines FILE"},
      {"pprof -traces -diff_base=WHOLE FILE", true},
  });
  return kLines;
}

bool ReadsNoFile(std::string_view command) {
  // What goes into a page is packed, not read.
  return command == "help" || command == "run" || command == "report" || command == "open" ||
         command == "page";
}

}  // namespace memtool::flips
