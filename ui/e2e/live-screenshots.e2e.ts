/** Pictures of Live, for the documentation: written when SONDE_SCREENSHOTS names a folder. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { describe, it } from "vitest";
import { openBrowser, openPage } from "./browsing";
import { PYTHON, Serving, temporaryDirectory } from "./serving";

const FOLDER = process.env.SONDE_SCREENSHOTS;
const ROOT = resolve(import.meta.dirname, "../..");

describe.skipIf(FOLDER === undefined)("pictures", () => {
  it("of a run, light and dark, wide and narrow", async () => {
    const place = (name: string) => join(FOLDER ?? ".", `${name}.png`);
    const dataDirectory = temporaryDirectory();
    const words = ["-m", "tests.runs.rehearsal", join(dataDirectory, "runs", "demo"), "--steps", "60", "--seconds", "0"];
    await once(spawn(PYTHON, words, { cwd: ROOT, stdio: "inherit" }), "exit");
    const [server, browser] = await Promise.all([Serving.start({ dataDirectory }), openBrowser()]);
    try {
      for (const [name, options] of [
        ["live", { height: 1050 }],
        ["live-dark", { height: 1050, dark: true }],
        ["live-phone", { width: 390, height: 844 }],
      ] as const) {
        const { page } = await openPage(browser, options);
        await page.goto(`${server.url}/live/demo?layer=15`);
        await page.getByRole("button", { name: "15.101" }).waitFor();
        await page.getByText("spikes:").waitFor();
        await page.screenshot({ path: place(name) });
      }
      const { page } = await openPage(browser, { height: 1050 });
      await page.goto(`${server.url}/live/demo?generation=60-7&feature=15.101`);
      await page.getByText("Click a token").waitFor();
      await page.getByRole("heading", { name: "What the stream said" }).scrollIntoViewIfNeeded();
      await page.screenshot({ path: place("live-generation") });
    } finally {
      await browser.close();
      await server.kill();
    }
  });
});
