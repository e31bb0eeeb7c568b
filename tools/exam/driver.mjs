// usage: node driver.mjs OPENCLAW_PACKAGE PLAN.json PORT
// Runs every session of a plan in one process, by the function behind `openclaw agent --local`: starting the program
// takes longer than a session. Before each session the workspace is made anew and the scripted model gets its script.
import fs from "node:fs";
import path from "node:path";
import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";

const [pkg, planFile, port] = process.argv.slice(2);
const dist = path.join(path.resolve(pkg), "dist");
const scripts = fs.readdirSync(dist).filter((file) => file.endsWith(".js") || file.endsWith(".mjs"));

async function find(name, prefix) {
  for (const file of scripts.filter((file) => file.startsWith(prefix))) {
    const source = fs.readFileSync(path.join(dist, file), "utf8");
    const exports = source.match(/export \{([^}]*)\}/g)?.pop() ?? "";
    const renamed = exports.match(new RegExp(`(?:^|[ ,{])${name} as (\\w+)`));
    const key = renamed ? renamed[1] : new RegExp(`[ ,{]${name}[ ,}]`).test(exports) ? name : null;
    if (key && source.includes(`function ${name}(`)) return (await import(pathToFileURL(path.join(dist, file)).href))[key];
  }
  throw new Error(`${pkg} has no ${name}`);
}

const plain = path.join(dist, "commands", "agent.js"); // up to 2026.2
const isPlain = fs.existsSync(plain);
const agentCommand = isPlain ? (await import(pathToFileURL(plain).href)).agentCommand : await find("agentCommand", "agent-");
let deps;
if (!isPlain) try { deps = (await find("createDefaultDeps", "deps"))(); } catch (error) { console.error(String(error)); }

// What the program seeds a workspace with. It refuses one that lost these files, so they stay.
const seeded = new Set([
  ".git", ".openclaw", "AGENTS.md", "BOOTSTRAP.md", "HEARTBEAT.md", "IDENTITY.md", "SOUL.md", "TOOLS.md", "USER.md",
  "openclaw-workspace-state.json",
]);

for (const session of JSON.parse(fs.readFileSync(planFile, "utf8"))) {
  for (const name of fs.readdirSync(session.workspace))
    if (!seeded.has(name)) fs.rmSync(path.join(session.workspace, name), { recursive: true });
  for (const [name, content] of Object.entries(session.files)) {
    const file = path.join(session.workspace, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  }
  for (const command of session.setup) execFileSync("bash", ["-c", command], { cwd: session.workspace });
  await fetch(`http://127.0.0.1:${port}/script`, { method: "POST", body: JSON.stringify(session.script) });
  for (const message of session.messages) {
    const runtime = { log: () => {}, error: () => {}, exit: (code) => { throw new Error(`exit ${code}`); }, writeStdout: () => {}, writeJson: () => {} };
    const run = { message, agentId: "main", sessionId: session.id, sessionKey: `agent:main:${session.id}`, json: true };
    try { await agentCommand(run, runtime, deps); } catch (error) { console.error(`${session.id}: ${error?.stack ?? error}`); }
  }
  console.log(session.id);
}
process.exit(0);
