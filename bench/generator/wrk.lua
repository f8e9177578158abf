-- Requests the paths of a file in turn, by POST if a second file has a body. Prints the result as one line of JSON at the end.

function init(args)
  local requests, at = {}, 0
  if args[2] then
    wrk.method, wrk.body = "POST", io.open(args[2]):read("*a")
  end
  for path in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format(wrk.method, path)
    wrk.path = path
  end
  -- wrk itself sends a single path, at less cost than through this function.
  if #requests == 1 then return end
  request = function()
    at = at % #requests + 1
    return requests[at]
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requestsPerSecond":%.1f,"p50Us":%d,"p99Us":%d,"errors":%d}\n',
    summary.requests / summary.duration * 1e6,
    latency:percentile(50),
    latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout
  ))
end
