export function HealthPage() {
  return <h1>Health</h1>
}
