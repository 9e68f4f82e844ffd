//! Where to compute, and what is found there.

use crate::engine::contract::EngineError;
use candle_core::{Device, DeviceLocation, Error};

/// Where to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// A GPU if this build and machine have one, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The CUDA device with this number.
    Cuda(usize),
    /// The Metal device with this number.
    Metal(usize),
}

/// How attention finds its keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AttentionPath {
    /// In place on the CPU, by own kernels on CUDA devices where they work, gathered elsewhere.
    #[default]
    ByDevice,
    /// Gathered on every device.
    Gathered,
}

/// A device, and why it is not the GPU that this build could use.
#[derive(Debug, Clone)]
pub struct Found {
    /// Where to compute.
    pub device: Device,
    /// Why the CPU computes, where a GPU was looked for.
    pub why_cpu: Option<String>,
}

/// Find the device.
///
/// # Errors
/// [`EngineError::Device`] when a certain GPU is asked for and not there.
pub fn find(choice: DeviceChoice) -> Result<Found, EngineError> {
    let found = |device| Found {
        device,
        why_cpu: None,
    };
    let certain = |device: Result<Device, String>| match device {
        Ok(device) => Ok(found(device)),
        Err(why) => Err(EngineError::Device(format!(
            "{why}; --device auto takes what there is"
        ))),
    };
    match choice {
        DeviceChoice::Cpu => Ok(found(Device::Cpu)),
        DeviceChoice::Cuda(index) => certain(cuda(index)),
        DeviceChoice::Metal(index) => certain(metal(index)),
        DeviceChoice::Auto => Ok(match looked_for() {
            None => found(Device::Cpu),
            Some(Ok(device)) => found(device),
            Some(Err(why)) => Found {
                device: Device::Cpu,
                why_cpu: Some(why),
            },
        }),
    }
}

/// The GPU that this build looks for by itself; `None` where it was built for none.
fn looked_for() -> Option<Result<Device, String>> {
    if cfg!(feature = "cuda") {
        Some(cuda(0))
    } else if cfg!(feature = "metal") {
        Some(metal(0))
    } else {
        None
    }
}

fn cuda(index: usize) -> Result<Device, String> {
    Device::new_cuda(index).map_err(|e| missing("CUDA", index, &e))
}

fn metal(index: usize) -> Result<Device, String> {
    Device::new_metal(index).map_err(|e| missing("Metal", index, &e))
}

fn missing(kind: &str, index: usize, error: &Error) -> String {
    let why = match error {
        Error::NotCompiledWithCudaSupport | Error::NotCompiledWithMetalSupport => format!(
            "this orgtop was built without it; build with --features {}",
            kind.to_lowercase()
        ),
        error => in_words(error),
    };
    format!("{kind} device {index} cannot be used: {why}")
}

/// What a device says went wrong, without the calls that led there.
#[must_use]
pub fn in_words(error: &Error) -> String {
    match error {
        Error::WithBacktrace { inner, .. } => in_words(inner),
        error => error.to_string(),
    }
}

/// `cpu`, `cuda:0`, `metal:0`.
#[must_use]
pub fn name(device: &Device) -> String {
    match device.location() {
        DeviceLocation::Cpu => "cpu".into(),
        DeviceLocation::Cuda { gpu_id } => format!("cuda:{gpu_id}"),
        DeviceLocation::Metal { gpu_id } => format!("metal:{gpu_id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(not(any(feature = "cuda", feature = "metal")))]
    fn a_build_without_gpus_takes_the_cpu_and_says_what_a_gpu_needs() {
        let auto = find(DeviceChoice::Auto).expect("there is a CPU");
        assert!(auto.device.is_cpu() && auto.why_cpu.is_none());
        for (choice, feature) in [
            (DeviceChoice::Cuda(0), "--features cuda"),
            (DeviceChoice::Metal(1), "--features metal"),
        ] {
            let Err(EngineError::Device(why)) = find(choice) else {
                panic!("{choice:?} was found");
            };
            assert!(why.contains(feature), "{why}");
        }
    }

    #[test]
    fn a_failure_is_said_without_its_calls() {
        let error = Error::Msg("out of memory".into()).bt();
        assert_eq!(in_words(&error), "out of memory");
    }
}
