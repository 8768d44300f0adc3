// Webhooks in and out, and links that are used once.
import type { Route } from '../route.ts'

export const webhookRoutes: Route[] = []
