/** Pictures of the main pages, for the documentation: written when SONDE_SCREENSHOTS names a folder. */

import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, it } from "vitest";
import { openBrowser, openPage } from "./browsing";
import { Serving } from "./serving";

const FOLDER = process.env.SONDE_SCREENSHOTS;

describe.skipIf(FOLDER === undefined)("pictures", () => {
  let server: Serving;
  let browser: Browser;
  const place = (name: string) => join(FOLDER ?? ".", `${name}.png`);

  beforeAll(async () => {
    [server, browser] = await Promise.all([Serving.start(), openBrowser()]);
  });
  afterAll(async () => {
    await browser.close();
    await server.kill();
  });

  it("of a sweep, light and dark, wide and narrow", async () => {
    const { page } = await openPage(browser, { height: 1050 });
    await page.goto(`${server.url}/causal`);
    await page.getByText(/cells.*about/).waitFor();
    await page.screenshot({ path: place("causal-start") });
    await page.getByRole("button", { name: "Start sweep" }).click();
    await page.getByText("bit for bit").waitFor();
    await page.locator(".panel[data-hook=post_block] canvas").hover({ position: { x: 100, y: 120 } });
    await page.screenshot({ path: place("causal") });
    const address = page.url();

    const dark = await openPage(browser, { dark: true, height: 1050 });
    await dark.page.goto(address);
    await dark.page.getByText("bit for bit").waitFor();
    await dark.page.screenshot({ path: place("causal-dark") });

    const phone = await openPage(browser, { width: 390, height: 844 });
    await phone.page.goto(address);
    await phone.page.getByText("bit for bit").waitFor();
    await phone.page.screenshot({ path: place("causal-phone"), fullPage: true });
  });
});
