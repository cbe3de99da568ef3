.mem_mib = .mem_mb | del(.mem_mb)
