-- Stories through nvim-dap: break and inspect; parallel branches; fail, edit, retry; into Python, once and twice.
vim.opt.runtimepath:append(vim.env.NVIM_DAP)
local dap = require("dap")
dap.set_log_level("TRACE")

-- The configuration is that of the guide, but for the program: here its traffic is recorded.
local configuration = {}
for block in io.open(vim.env.PITSTOP_GUIDE):read("*a"):gmatch("```lua\n(.-)```") do
  table.insert(configuration, block)
end
assert(loadstring(table.concat(configuration)))()
dap.adapters.pitstop = { type = "executable", command = vim.env.PITSTOP_PYTHON, args = { vim.env.PITSTOP_TEE } }

local folder = vim.env.PITSTOP_FLOWS
local stops, ended, outputs = {}, false, {}
dap.listeners.after.event_stopped["stories"] = function(_, body) table.insert(stops, body) end
dap.listeners.after.event_terminated["stories"] = function() ended = true end
dap.listeners.after.event_output["stories"] = function(_, body) table.insert(outputs, body.output) end

local function wait_for(what, condition)
  assert(vim.wait(90000, condition, 20), "no " .. what)
end

local function equal(actual, expected)
  assert(actual == expected, ("%s is not %s"):format(vim.inspect(actual), vim.inspect(expected)))
end

--- The next stop, once nvim-dap has asked for its stack and jumped there.
local function next_stop()
  local session
  wait_for("stop", function()
    session = dap.session()
    return #stops > 0 and session ~= nil and session.current_frame ~= nil
  end)
  return table.remove(stops, 1), session
end

local function ask(session, command, arguments)
  local answer, failure
  session:request(command, arguments, function(err, response) answer, failure = response or {}, err end)
  wait_for(command, function() return answer ~= nil or failure ~= nil end)
  assert(not failure, vim.inspect(failure))
  return answer
end

local function line_of(text)
  return vim.fn.search(text, "nw")
end

local function open(name)
  ended, stops, outputs = false, {}, {}
  vim.cmd("edit " .. folder .. "/" .. name)
  vim.bo.filetype = "yaml"
end

local function break_at(text)
  vim.fn.cursor(line_of(text), 1)
  dap.set_breakpoint()
end

local function run(name)
  dap.run({ type = "pitstop", request = "launch", name = name, program = folder .. "/" .. name, cwd = folder })
end

local function finish()
  wait_for("end", function() return ended end)
  wait_for("session's end", function() return dap.session() == nil end)
  dap.clear_breakpoints()
end

local stories = {}

function stories.break_and_inspect()
  open("shop.yaml")
  break_at("id: last")
  run("shop.yaml")
  local stop, session = next_stop()
  equal(stop.reason, "breakpoint")
  equal(session.current_frame.line, line_of("id: last"))
  equal(vim.fn.line("."), line_of("id: last"))
  equal(ask(session, "evaluate", { expression = ".vars.prices | add", frameId = session.current_frame.id, context = "repl" }).result, "123")
  local scopes = ask(session, "scopes", { frameId = session.current_frame.id }).scopes
  equal(scopes[1].name, "State")
  assert(#ask(session, "variables", { variablesReference = scopes[1].variablesReference }).variables > 3)
  dap.continue()
  finish()
end

function stories.parallel_branches()
  open("shop.yaml")
  break_at("id: checks")
  run("shop.yaml")
  local _, session = next_stop()
  session.current_frame = nil
  dap.step_into()
  local stop
  stop, session = next_stop()
  equal(session.current_frame.name, "checks.left")
  equal(vim.tbl_count(ask(session, "threads", nil).threads), 3)
  session.current_frame = nil
  dap.step_over()
  local other
  other, session = next_stop()
  assert(other.threadId ~= stop.threadId, "the branch was at its end, so another one is shown")
  dap.continue()
  finish()
  assert(vim.tbl_contains(outputs, "left\n") and vim.tbl_contains(outputs, "right\n"), vim.inspect(outputs))
end

function stories.fail_edit_retry()
  open("broken.yaml")
  run("broken.yaml")
  local stop, session = next_stop()
  equal(stop.reason, "exception")
  local scopes = ask(session, "scopes", { frameId = session.current_frame.id }).scopes
  local state = ask(session, "variables", { variablesReference = scopes[1].variablesReference }).variables
  local vars
  for _, each in ipairs(state) do
    if each.name == "vars" then vars = each.variablesReference end
  end
  ask(session, "setVariable", { variablesReference = vars, name = "port", value = "5432" })
  session.current_frame = nil
  ask(session, "evaluate", { expression = "retry", context = "repl" })
  finish()
  assert(vim.tbl_contains(outputs, "connected\n"), vim.inspect(outputs))
end

function stories.into_python()
  open("calling.yaml")
  break_at("id: price")
  run("calling.yaml")
  local _, flow = next_stop()
  flow.current_frame = nil
  dap.step_into()
  local _, python = next_stop()
  assert(python ~= flow, "the session of Python is the one that is shown")
  equal(python.current_frame.name, "total")
  equal(vim.fn.expand("%:t"), "prices.py")
  python.current_frame = nil
  dap.step_out()
  wait_for("stop of the flow", function() return flow.current_frame ~= nil end)
  equal(flow.current_frame.name, "later")
  dap.set_session(flow)
  dap.continue()
  finish()
end

function stories.into_two_nodes_of_a_graph()
  local sessions = 0
  dap.listeners.after.initialize["stories"] = function() sessions = sessions + 1 end
  open("sums.py")
  dap.run({
    type = "pitstop",
    request = "launch",
    name = "sums",
    program = folder .. "/sums.py:app",
    cwd = folder,
    inputs = { count = 1, port = 5432 },
    stopOnEntry = true,
  })
  local _, graph = next_stop()
  graph.current_frame = nil
  dap.step_into()
  local _, python = next_stop()
  equal(python.current_frame.name, "fetch")
  python.current_frame = nil
  dap.step_out()
  wait_for("inner", function() return graph.current_frame ~= nil and graph.current_frame.name == "inner" end)
  dap.set_session(graph)
  stops = {}
  graph.current_frame = nil
  dap.step_into()
  next_stop()
  equal(graph.current_frame.name, "inner.double")
  graph.current_frame = nil
  python.current_frame = nil
  dap.step_into()
  wait_for("double", function() return python.current_frame ~= nil and python.current_frame.name == "double" end)
  equal(sessions, 2)
  dap.set_session(python)
  dap.continue()
  wait_for("stop of the graph", function() return graph.current_frame ~= nil end)
  dap.set_session(graph)
  dap.continue()
  finish()
end

for _, name in ipairs({
  "break_and_inspect",
  "parallel_branches",
  "fail_edit_retry",
  "into_python",
  "into_two_nodes_of_a_graph",
}) do
  local ok, problem = xpcall(stories[name], debug.traceback)
  if not ok then
    io.stderr:write(name .. ": " .. tostring(problem) .. "\n")
    vim.cmd("cquit 1")
  end
  io.stdout:write(name .. " passed\n")
end
vim.cmd("qall!")
