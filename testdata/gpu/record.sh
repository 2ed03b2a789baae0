#!/bin/bash
# Records everything that the README of this folder lists, on a machine with one NVIDIA GPU, PyTorch, JAX,
# CuPy, Numba, Triton and nvcc. Each part that fails leaves its error in its log.
#
# usage: record.sh OUT MEMTOOL [PART]...     parts: system shim full train jax
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=$1 memtool=$2
shift 2
# The names in stacks and logs are those of this folder.
mkdir -p /tmp/job
cp "$here"/*.py "$here"/*.cu /tmp/job
cp -r "$(dirname "$memtool")/.." /tmp/job/memtool
memtool=/tmp/job/memtool/bin/memtool
here=/tmp/job
cd /tmp/job || exit
export PYTHONUNBUFFERED=1 XLA_PYTHON_CLIENT_PREALLOCATE=false TF_CPP_MIN_LOG_LEVEL=0 COLUMNS=160

# limited SECONDS LOG COMMAND...: never fails; the log has all it said and its status.
limited() {
  local seconds=$1 log=$2
  shift 2
  timeout -k 5 "$seconds" "$@" > "$log" 2>&1
  echo "exit status $?" >> "$log"
}

pack() { tar -cJf "$out/$1.tar.xz" "$1"; }

part_system() {
  mkdir -p system
  python3 -c "import torch,time; x=torch.empty(3<<30,dtype=torch.uint8,device='cuda'); time.sleep(25)" &
  sleep 9
  nvidia-smi > system/table.txt 2>&1
  nvidia-smi -q > system/q.txt 2>&1
  nvidia-smi -q -x > system/q.xml 2>&1
  nvidia-smi -q -d MEMORY > system/q_memory.txt 2>&1
  nvidia-smi --query-gpu=timestamp,index,name,memory.total,memory.reserved,memory.used,memory.free --format=csv > system/query.csv
  nvidia-smi --query-compute-apps=timestamp,gpu_uuid,pid,process_name,used_memory --format=csv > system/apps.csv
  timeout 4 nvidia-smi --query-gpu=timestamp,memory.used,memory.total,utilization.gpu --format=csv -l 1 > system/loop.csv
  timeout 4 nvidia-smi dmon -s mu -o DT > system/dmon_times.txt 2>&1
  timeout 3 nvidia-smi dmon -s pucm > system/dmon.txt 2>&1
  timeout 3 nvidia-smi pmon -s um -o DT > system/pmon.txt 2>&1
  python3 -m pip list > system/pip.txt 2>&1
  kill "$!" 2>/dev/null
  wait
  pack system
}

part_shim() {
  mkdir -p shim
  nvcc -o calls "$here/calls.cu" -lcuda > shim/nvcc.log 2>&1
  python3 "$here/watch.py" shim/nvml.csv 2> shim/watch.log &
  local watch=$! small="--layers 4 --batch 4 --steps 2 --smi"
  recorded() {  # NAME OPTIONS COMMAND...
    local name=$1 options=$2
    shift 2
    echo "$(date +%s.%N) $name" >> shim/when.txt
    # shellcheck disable=SC2086
    limited 60 "shim/$name.log" "$memtool" run -o "shim/$name.%p.mtcap" $options -- "$@"
  }
  ./calls > shim/calls_bare.log 2>&1
  recorded calls "--stacks native" ./calls
  recorded calls_cupti "--stacks off --backend cupti" ./calls
  recorded torch "--stacks both" python3 "$here/train.py" shim/torch $small
  PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True \
    recorded torch_expandable "--stacks python" python3 "$here/train.py" shim/torch_expandable $small
  PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync \
    recorded torch_async "--stacks python" python3 "$here/train.py" shim/torch_async $small --no-history
  recorded torch_cupti "--stacks python --backend cupti" python3 "$here/train.py" shim/torch_cupti $small --no-history
  recorded jax "--stacks both" python3 "$here/jax_train.py" shim/jax
  recorded fragmented "--stacks python" python3 "$here/exhaust.py" torch_fragmented --snapshot shim/fragmented.pickle
  recorded grow "--stacks python" python3 "$here/exhaust.py" torch_grow --snapshot shim/grow.pickle
  XLA_PYTHON_CLIENT_PREALLOCATE=true recorded jax_preallocated "--stacks python" python3 "$here/jax_train.py" shim/jax2
  recorded cupy "--stacks python" python3 -c "
import cupy
held = [cupy.zeros((1 << 28,), dtype=cupy.uint8) for _ in range(6)]
a = cupy.random.rand(4096, 4096); b = a @ a; print(b.sum(), cupy.get_default_memory_pool().total_bytes())"
  kill "$watch"
  wait
  rm -rf shim/jax/plugins shim/jax2
  pack shim
}

part_full() {  # the whole card is taken: one after another
  mkdir -p full
  local way
  for way in torch_grow torch_neighbour torch_pinned torch_blas torch_new_context cupy_grow cupy_async cupy_driver numba_grow; do
    limited 60 "full/$way.log" python3 "$here/exhaust.py" "$way"
    pkill -f "time.sleep\(60\)"
  done
  PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True limited 60 full/torch_grow_expandable.log python3 "$here/exhaust.py" torch_grow
  PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync limited 60 full/torch_grow_async.log python3 "$here/exhaust.py" torch_grow
  XLA_PYTHON_CLIENT_ALLOCATOR=platform limited 60 full/jax_platform.log python3 "$here/exhaust.py" jax_grow
  XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async limited 60 full/jax_async.log python3 "$here/exhaust.py" jax_grow
  XLA_PYTHON_CLIENT_PREALLOCATE=true limited 60 full/jax_preallocated.log python3 "$here/exhaust.py" jax_grow
  pack full
}

part_train() {
  mkdir -p train
  {
    local ck model
    echo "base"
    for ck in 1 2 3 1r every2 attn ffn; do echo "ck$ck --ck $ck"; done
    echo "amp --amp"
    echo "ampck1 --amp --ck 1"
    echo "acc2 --acc 2 --batch 4"
    echo "B4 --batch 4"
    echo "chunk4 --chunks 4"
    echo "V32k --vocab 32768"
    echo "V32kch4 --vocab 32768 --chunks 4"
    echo "foreach_no --foreach no"
    echo "fused --fused yes"
    echo "sgd --opt sgd"
    echo "noopt --opt none"
    echo "acc2ck1 --acc 2 --batch 4 --ck 1"
    echo "V32kch4ck1 --vocab 32768 --chunks 4 --ck 1"
    echo "half --half"
    echo "halfck1 --half --ck 1"
    echo "offload --offload"
    echo "compiled --compile"
    for model in encoder conv library; do
      echo "$model --model $model"
      echo "${model}ck1 --model $model --ck 1"
    done
    echo "keep_grads --keep-grads"
    echo "vary --vary --steps 8"
    echo "deep --layers 16 --width 512 --steps 2"
    echo "deepck1 --layers 16 --width 512 --steps 2 --ck 1"
  } > jobs.txt
  one() {
    local setting=$1 conf=$2 name=$3
    shift 3
    mkdir -p "train/$setting"
    PYTORCH_CUDA_ALLOC_CONF=$conf limited 90 "train/$setting/$name.log" python3 "$here/train.py" "train/$setting/$name" "$@"
  }
  export -f one limited
  export here
  local setting conf
  while read -r setting conf; do
    while read -r line; do
      case $setting:$line in
        default:* | expandable:* | *:base | *:ck1\ * | *:vary\ *) echo "$setting $conf $line" ;;
      esac
    done < jobs.txt
  done > all.txt <<'SETTINGS'
default pinned_use_cuda_host_register:False
expandable expandable_segments:True
split max_split_size_mb:64
roundup roundup_power2_divisions:4
collect garbage_collection_threshold:0.6
SETTINGS
  xargs -P 7 -L 1 bash -c 'one "$@"' _ < all.txt
  (cd train && timeout 90 torchrun --nproc-per-node 2 "$here/train.py" ddp_adamw --layers 4 > ddp_adamw.log 2>&1
   timeout 90 torchrun --nproc-per-node 2 "$here/train.py" ddp_zero --layers 4 --opt zero > ddp_zero.log 2>&1)
  local setting
  for setting in train/*/; do tar -cJf "$out/train_$(basename "$setting").tar.xz" "$setting"; done
  find train -maxdepth 1 -type f | tar -cJf "$out/train_ranks.tar.xz" -T -
}

part_jax() {  # and what else leaves room for its neighbours
  mkdir -p limited
  local way
  ways() {
    for way in fraction fragmented too_large in_graph backward optimizer compiled retried summary; do
      echo "torch_$way --snapshot limited/torch_$way.pickle"
    done
    echo cupy_limit
    echo triton
  }
  exhaust() { limited 120 "limited/$1.log" python3 "$here/exhaust.py" "$@"; }
  export -f exhaust limited
  export here
  ways | xargs -P 6 -L 1 bash -c 'exhaust "$@"' _
  for way in jax_grow jax_program jax_compile; do
    XLA_PYTHON_CLIENT_MEM_FRACTION=0.1 limited 60 "limited/$way.log" python3 "$here/exhaust.py" $way &
  done
  XLA_FLAGS=--xla_dump_to=limited/dump limited 90 limited/jax_train.log python3 "$here/jax_train.py" limited/jax &
  limited 100 limited/trainers.log python3 "$here/trainers.py" limited
  wait
  find limited \( -name "*.ll" -o -name "*.ptx" -o -size +6M \) -delete
  pack limited
}

for part in "${@:-system shim full train jax}"; do
  for one_part in $part; do
    SECONDS=0
    "part_$one_part"
    echo "$one_part: $SECONDS s"
  done
done
ls -la "$out"
