// Finds a Chromium that starts on this machine, or installs one, and writes where it is into a file:
// node chromium.mjs FILE. In order: the one SONDE_CHROMIUM names, the one an npm package carries (it
// needs a few libraries of the system), the system's own, and the distribution's by apt-get.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
const target = resolve(process.argv[2] ?? "chromium-path");
const home = dirname(target);
const tried = [];

function starts(path) {
  const { status, stderr, error } = spawnSync(path, ["--version"], { encoding: "utf8", timeout: 60_000 });
  if (status === 0) return true;
  tried.push(`${path}: ${(error?.message ?? stderr ?? "").trim().split("\n")[0] || `status ${status}`}`);
  return false;
}

/** Unpacked once, beside the packages: not into a folder that other users can write to. */
async function carried() {
  process.env.TMPDIR = home;
  const { default: chromium } = await import("@sparticuz/chromium");
  return chromium.executablePath();
}

function onPath() {
  return NAMES.map((name) => spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).stdout.trim()).filter(
    (path) => path !== "",
  );
}

function install() {
  if (process.getuid?.() !== 0 || spawnSync("apt-get", ["--version"]).status !== 0) {
    tried.push("apt-get install chromium: only root can, on Debian or Ubuntu");
    return;
  }
  process.stdout.write("== the distribution's Chromium, by apt-get (a minute)\n");
  const quietly = { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" };
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  try {
    execFileSync("apt-get", ["-qq", "update"], { ...quietly, env });
    execFileSync("apt-get", ["-qq", "install", "--yes", "--no-install-recommends", "chromium"], { ...quietly, env });
  } catch (error) {
    tried.push(`apt-get install chromium: ${String(error.stderr).trim().split("\n").at(-1)}`);
  }
}

async function find() {
  const named = process.env.SONDE_CHROMIUM;
  if (named) return starts(named) ? named : null;
  try {
    const path = await carried();
    if (starts(path)) return path;
  } catch (error) {
    tried.push(`@sparticuz/chromium: ${error.message}`);
  }
  const there = onPath().find(starts);
  if (there) return there;
  install();
  return onPath().find(starts) ?? null;
}

mkdirSync(home, { recursive: true });
const found = await find();
if (found === null) {
  process.stderr.write(
    `no Chromium starts here, and the tests of the interface need one:\n  ${tried.join("\n  ")}\n` +
      "Install one (as root, on Debian or Ubuntu: apt-get install chromium), or name it: make ui-e2e SONDE_CHROMIUM=/path\n",
  );
  process.exit(1);
}
writeFileSync(target, `${found}\n`);
