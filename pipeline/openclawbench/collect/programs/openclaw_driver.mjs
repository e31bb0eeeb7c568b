// Runs tasks in one OpenClaw process through the function behind `openclaw agent --local`.
// usage: node openclaw_driver.mjs OPENCLAW_PACKAGE STATE_FOLDER FD SOCKET   (HOME holds .openclaw/openclaw.json)
// Each task brings a home of its own, made as the first was: OpenClaw looks up HOME whenever it needs a path.
// Whatever connects to the address in ENDPOINT_URL, which is set here, is passed on to the Unix socket.
// stdin: a task a line, {"session", "home", "turns": [text], "timeout_s"}. File descriptor FD: {"ready": true}, then a line a
// task, {"session", "runs": [{"turn", "error", "stop", "session_file"}]}. It ends with its stdin.
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const [openclaw, state, fd, socket] = process.argv.slice(2);
const dist = path.join(path.resolve(openclaw), "dist");
const say = (value) => fs.writeSync(Number(fd), JSON.stringify(value) + "\n");

// The package exports no such function by name: its bundles do, under a name that a release chooses.
async function bundled(name, prefix) {
  for (const file of fs.readdirSync(dist).filter((f) => f.startsWith(prefix) && /\.m?js$/.test(f))) {
    const text = fs.readFileSync(path.join(dist, file), "utf8");
    if (!text.includes(`function ${name}(`)) continue;
    const exported = text.match(/export \{([^}]*)\}/g)?.pop() ?? "";
    const renamed = exported.match(new RegExp(`(?:^|[ ,{])${name} as (\\w+)`));
    if (!renamed && !new RegExp(`[ ,{]${name}[ ,}]`).test(exported)) continue;
    return (await import(pathToFileURL(path.join(dist, file)).href))[renamed ? renamed[1] : name];
  }
  return null;
}

const listening = net.createServer((from) => {
  const to = net.connect(socket);
  from.pipe(to).pipe(from);
  from.on("error", () => to.destroy());
  to.on("error", () => from.destroy());
});
await new Promise((done) => listening.listen(0, "127.0.0.1", done));
process.env.ENDPOINT_URL = `http://127.0.0.1:${listening.address().port}/v1`;

const agentCommand = await bundled("agentCommand", "agent-");
if (!agentCommand) {
  say({ fault: "this release of OpenClaw has no agentCommand in its bundles" });
  process.exit(1);
}
const dependencies = ((await bundled("createDefaultDeps", "deps")) ?? (() => ({})))();
say({ ready: true });

const waiting = readline.createInterface({ input: process.stdin });
waiting.on("close", () => process.exit(0)); // whoever started it has ended, whatever it is doing
for await (const line of waiting) {
  const task = JSON.parse(line);
  process.env.HOME = process.env.TMPDIR = task.home;
  process.chdir(task.home);
  const runs = [];
  for (let turn = 0; turn < task.turns.length; turn++) {
    fs.writeFileSync(path.join(state, "turn.json.new"), JSON.stringify({ turn }));
    fs.renameSync(path.join(state, "turn.json.new"), path.join(state, "turn.json"));
    const lines = [];
    const runtime = {
      log: (...a) => lines.push(a.join(" ")),
      error: (...a) => lines.push(a.join(" ")),
      writeStdout: (s) => lines.push(s),
      writeJson: (v) => lines.push(JSON.stringify(v)),
      exit: (code) => { throw new Error("exit " + code); },
    };
    try {
      const options = {
        message: task.turns[turn], agentId: "main", sessionId: task.session, sessionKey: `agent:main:${task.session}`,
        json: true, timeout: String(task.timeout_s), cleanupBundleMcpOnRunEnd: true,
      };
      const result = await agentCommand(options, runtime, dependencies);
      runs.push({ turn, error: null, stop: result?.meta?.stopReason ?? null, session_file: result?.meta?.agentMeta?.sessionFile ?? null });
    } catch (error) {
      runs.push({ turn, error: String(error?.message ?? error).slice(0, 1000) + " " + lines.slice(-3).join(" ").slice(0, 1000) });
      break;
    }
  }
  say({ session: task.session, runs });
}
