"""What the driver says of a card and its processes, every 20 ms, until it is stopped: NVML's word.

usage: watch.py OUT.csv
"""
import sys
import time

import pynvml


def main():
    pynvml.nvmlInit()
    card = pynvml.nvmlDeviceGetHandleByIndex(0)
    with open(sys.argv[1], "w", buffering=1) as out:
        out.write("time,device_used,device_reserved,processes\n")
        while True:
            memory = pynvml.nvmlDeviceGetMemoryInfo(card, version=pynvml.nvmlMemory_v2)
            processes = " ".join(f"{p.pid}:{p.usedGpuMemory}"
                                 for p in pynvml.nvmlDeviceGetComputeRunningProcesses(card))
            out.write(f"{time.time():.3f},{memory.used},{memory.reserved},{processes}\n")
            time.sleep(0.02)


if __name__ == "__main__":
    main()
