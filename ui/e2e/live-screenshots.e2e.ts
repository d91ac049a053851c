/**
 * Pictures of Live, for the documentation: written when SONDE_SCREENSHOTS names a folder, of the run
 * that SONDE_RUN names. `sonde train` makes one worth a picture in some minutes.
 */

import { cpSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openBrowser, openPage } from "./browsing";
import { Serving, temporaryDirectory } from "./serving";

const { SONDE_SCREENSHOTS: FOLDER, SONDE_RUN: RUN } = process.env;

describe.skipIf(FOLDER === undefined || RUN === undefined)("pictures", () => {
  it("of a run, light and dark, wide and narrow", async () => {
    const place = (name: string) => join(FOLDER ?? ".", `${name}.png`);
    const dataDirectory = temporaryDirectory();
    const isSmall = (file: string) => !file.endsWith(".safetensors") && !file.endsWith(".pt");
    cpSync(RUN ?? "", join(dataDirectory, "runs", "grpo"), { recursive: true, filter: isSmall });
    const [server, browser] = await Promise.all([Serving.start({ dataDirectory }), openBrowser()]);
    try {
      for (const [name, options] of [
        ["live", { height: 1250 }],
        ["live-dark", { height: 1250, dark: true }],
        ["live-phone", { width: 390, height: 844 }],
      ] as const) {
        const { page } = await openPage(browser, options);
        await page.goto(`${server.url}/live/grpo?layer=15`);
        await page.getByRole("region", { name: "Vocabulary, table" }).getByRole("button").first().waitFor();
        await page.getByText(/^[1-9][\d,]* records streamed/).waitFor();
        await expect.poll(() => page.locator(".reading").count()).toBe(0);
        await page.screenshot({ path: place(name) });
      }
      const { page } = await openPage(browser, { height: 1250 });
      await page.goto(`${server.url}/live/grpo?layer=15`);
      await page.getByRole("region", { name: "Vocabulary, table" }).getByRole("button").first().click();
      await page.getByRole("heading", { name: "Most active on" }).waitFor();
      await page.getByRole("region", { name: "Generations, table" }).getByRole("button").first().click();
      await page.getByText("Click a token").waitFor();
      await page.getByLabel("Command that tests the feature").waitFor();
      await page.getByRole("heading", { name: "What the stream said" }).scrollIntoViewIfNeeded();
      await page.screenshot({ path: place("live-generation") });
    } finally {
      await browser.close();
      await server.kill();
    }
  });
});
