import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules", "e2e/node_modules", "src/**/*.generated.ts", "scripts", "e2e/*.mjs", "eslint.config.js"] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { "react-hooks": hooks },
    rules: {
      ...hooks.configs.recommended.rules,
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "max-lines": ["error", { max: 400 }],
      "no-console": "error",
    },
  },
  {
    files: ["src/**/*.tsx"],
    rules: {
      "max-lines": ["error", { max: 250 }],
      "no-restricted-globals": ["error", "fetch", "EventSource", "XMLHttpRequest", "WebSocket"],
      "no-restricted-imports": [
        "error",
        { patterns: [{ group: ["**/api/client", "openapi-fetch"], message: "Components get data from hooks." }] },
      ],
    },
  },
);
