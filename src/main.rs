//! The `orgtop` program.

fn main() -> std::process::ExitCode {
    orgtop::cli::main()
}
