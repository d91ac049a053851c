/** `sonde serve` as users start it: a process of its own, on the real model. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const ROOT = resolve(import.meta.dirname, "../..");
export const PYTHON = process.env.PYTHON ?? join(ROOT, ".venv/bin/python");

export function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), "sonde-e2e-"));
}

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

export interface ServeOptions {
  readonly dataDirectory?: string;
  readonly port?: number;
  /** Whether it has the default model; without, it only shows runs. */
  readonly model?: boolean;
  /** Further words of the command line. */
  readonly more?: readonly string[];
}

export class Serving {
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#process = child;
  }

  /** Start it, and wait until it says where it listens. */
  static async start({
    dataDirectory = temporaryDirectory(),
    port = 0,
    model = true,
    more = [],
  }: ServeOptions = {}): Promise<Serving> {
    const words = [
      "-m",
      "sonde",
      "serve",
      "--port",
      String(port),
      "--data-dir",
      dataDirectory,
      "--output-dir",
      join(dataDirectory, "runs"),
      ...(model ? ["--model", "smollm2"] : []),
      ...more,
    ];
    const env = { ...process.env, OMP_NUM_THREADS: "1", TOKENIZERS_PARALLELISM: "false" };
    const child = spawn(PYTHON, words, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
    process.once("exit", () => child.kill("SIGKILL")); // also when the tests are broken off
    const said: string[] = [];
    child.stderr.on("data", (text: Buffer) => said.push(text.toString()));
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /listens on (http:\/\/[^\s,]+)/.exec(line)?.[1];
      if (url !== undefined) {
        child.stdout.resume();
        return new Serving(url, child);
      }
    }
    throw new Error(`sonde serve did not start:\n${said.join("")}`);
  }

  /** As the kernel does when memory runs out: no word, no time. */
  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill("SIGKILL");
    await once(this.#process, "exit");
  }
}
