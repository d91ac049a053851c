/** The server goes and comes back; a server without a model; a server with a key. */

import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { finished, LONG, SISTER, startSweep, tableOf } from "./asking";
import { closePages, openBrowser, openPage } from "./browsing";
import { freePort, Serving, temporaryDirectory } from "./serving";

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});
afterEach(() => closePages(browser));
afterAll(() => browser.close());

describe("a server that is killed and started again", () => {
  it("is missed, found again, and has forgotten nothing that was finished", async () => {
    const place = { port: await freePort(), dataDirectory: temporaryDirectory() };
    let server = await Serving.start(place);
    const { page } = await openPage(browser);
    await startSweep(page, server.url, SISTER);
    await finished(page);
    const before = await tableOf(page, "post_block");

    await page.goto(`${server.url}/causal`);
    await startSweep(page, server.url, LONG);
    await page.getByRole("status").filter({ hasText: /^[1-9][\d,]* of / }).waitFor();
    await server.kill();
    await page.getByText("disconnected, trying again").waitFor();

    server = await Serving.start(place);
    try {
      await page.getByText("The server ended while this sweep ran").waitFor({ timeout: 60_000 });
      await page.getByText("connected", { exact: true }).waitFor();
      await page
        .getByRole("link", { name: SISTER.corrupt })
        .first()
        .click();
      await finished(page);
      expect(await tableOf(page, "post_block")).toEqual(before);
      await page.getByRole("button", { name: "Start sweep" }).click();
      await finished(page);
    } finally {
      await server.kill();
    }
  });
});

describe("a server without a model", () => {
  it("says that there is nothing to intervene on, and what to do", async () => {
    const server = await Serving.start({ model: false });
    try {
      const { page } = await openPage(browser);
      await page.goto(`${server.url}/causal`);
      await page.getByText("This server has no model").waitFor();
      await page.getByText("connected", { exact: true }).waitFor();
      expect((await page.goto(`${server.url}/elsewhere`))?.status()).toBe(404);
    } finally {
      await server.kill();
    }
  });
});

describe("a server with a key", () => {
  it("is asked for it, and the page works once it has it", async () => {
    const server = await Serving.start({ more: ["--api-key", "open-sesame"] });
    try {
      const { page } = await openPage(browser);
      await page.goto(`${server.url}/causal`);
      await page.getByLabel("Key").fill("open-sesame");
      await page.getByRole("button", { name: "Use it in this tab" }).click();
      await startSweep(page, server.url, SISTER);
      await finished(page);
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "CSV" }).click(),
      ]);
      expect(download.suggestedFilename()).toMatch(/\.csv$/);
    } finally {
      await server.kill();
    }
  });
});
