import { defineConfig } from "vitest/config";

export default defineConfig({
	test: {
		include: ["test/**/*.test.ts"],
		// Real processes and real files: a slow machine is no failure.
		testTimeout: 120_000,
		hookTimeout: 120_000,
		pool: "forks",
		maxWorkers: 2,
	},
});
