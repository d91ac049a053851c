/** A real Chromium: the one that SONDE_CHROMIUM names, as `make ui-e2e` does. */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { source as axeSource } from "axe-core";
import { chromium as playwright, type Browser, type Page } from "playwright-core";

export async function openBrowser(): Promise<Browser> {
  const executablePath = process.env.SONDE_CHROMIUM;
  if (executablePath === undefined) throw new Error("SONDE_CHROMIUM names no browser: run `make ui-e2e`");
  const env = { ...process.env, ...fonts(executablePath) };
  return playwright.launch({ executablePath, args: ["--no-sandbox"], env });
}

/** A machine without any fonts draws the letters of those that came with the browser. */
function fonts(executablePath: string): Record<string, string> {
  const carried = join(dirname(executablePath), "fonts");
  return existsSync("/etc/fonts") || !existsSync(carried) ? {} : { FONTCONFIG_PATH: carried };
}

/** A busy machine is slow, not wrong. */
const PATIENCE_MS = 90_000;

export interface PageOptions {
  readonly dark?: boolean;
  readonly width?: number;
  readonly height?: number;
  /** For pages whose policy would not even let axe in. */
  readonly bypassCSP?: boolean;
}

/** A page whose faults fail the test: `faults` must stay empty. */
export async function openPage(
  browser: Browser,
  { dark = false, width = 1440, height = 900, bypassCSP = false }: PageOptions = {},
) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
    bypassCSP,
    locale: "en-US", // else it is taken from the machine, which may have none that browsers know
    permissions: ["clipboard-read", "clipboard-write"],
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes("net::ERR_")) faults.push(message.text());
  });
  return { page, faults };
}

/** Controls that are smaller than a finger needs. */
export async function smallControls(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll("main button, main select, main input, main summary")]
      .filter((each) => (each as HTMLElement).checkVisibility())
      .map((each) => ({ text: `${each.tagName} ${each.textContent.slice(0, 30)}`, box: each.getBoundingClientRect() }))
      .filter(({ box }) => box.height < 23.5 || box.width < 23.5)
      .map(({ text, box }) => `${text} ${box.width}x${box.height}`),
  );
}

/** What is wrong with the same page in the dark, on a phone: for axe, for fingers, and for those who scroll. */
export async function faultsOnPhone(page: Page): Promise<unknown[]> {
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize({ width: 390, height: 844 });
  await page.locator(':root[data-theme="dark"]').waitFor({ state: "attached" });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  return [...(await violations(page)), ...(await smallControls(page)), ...(wide > 390 ? [`${wide} pixels wide`] : [])];
}

/** The upper part of something, for the documentation: written when SONDE_SCREENSHOTS names a folder. */
export async function picture(page: Page, name: string, { of = ".shown", height = 900 }: { of?: string; height?: number } = {}): Promise<void> {
  const folder = process.env.SONDE_SCREENSHOTS;
  if (folder === undefined) return;
  await page.evaluate(() => window.scrollTo(0, 0));
  const box = await page.locator(of).first().boundingBox();
  if (box === null) throw new Error(`nothing to photograph: ${of}`);
  const [x, y] = [Math.max(box.x - 12, 0), Math.max(box.y - 12, 0)];
  const clip = { x, y, width: box.width + 24, height: Math.min(box.height + 24, height) };
  await page.screenshot({ path: join(folder, `${name}.png`), clip, fullPage: true });
}

/** A page that is left open listens on, and takes its share of the machine. */
export async function closePages(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map((context) => context.close()));
}

export interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly string[];
}

/** What axe finds that is more than minor. */
export async function violations(page: Page): Promise<Violation[]> {
  return (await everyViolation(page)).filter(({ impact }) => impact !== "minor");
}

async function everyViolation(page: Page): Promise<Violation[]> {
  await page.evaluate(axeSource);
  return page.evaluate(async () => {
    interface Found {
      violations: { id: string; impact: string | null; nodes: { html: string }[] }[];
    }
    const { axe } = window as unknown as { axe: { run: () => Promise<Found> } };
    const { violations: found } = await axe.run();
    return found.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map(({ html }) => html) }));
  });
}
