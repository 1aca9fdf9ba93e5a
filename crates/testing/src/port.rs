//! A port for a server that neither accepts a socket nor reports its port.

use std::io::{Error, Result};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A port of 127.0.0.1 that is reserved while this value exists. The port is bound but not listening: a
/// server that binds it by number with `SO_REUSEADDR`, as nearly all do, can listen on it repeatedly.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _bound: OwnedFd,
}

impl Port {
    /// Reserves a free port.
    ///
    /// # Errors
    /// If no port is free.
    pub fn reserve() -> Result<Port> {
        // SAFETY: creates a socket that nothing else owns.
        let bound = unsafe {
            let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
            if socket < 0 {
                return Err(Error::last_os_error());
            }
            OwnedFd::from_raw_fd(socket)
        };
        let (yes, mut length) = (1_i32, size_of::<libc::sockaddr_in>() as libc::socklen_t);
        let mut address = libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: 0,
            sin_addr: libc::in_addr { s_addr: u32::from(Ipv4Addr::LOCALHOST).to_be() },
            sin_zero: [0; 8],
        };
        // SAFETY: the socket is open; all pointers are valid during the calls and have the given sizes.
        let done = unsafe {
            let socket = bound.as_raw_fd();
            libc::setsockopt(socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, (&raw const yes).cast(), 4) == 0
                && libc::bind(socket, (&raw const address).cast(), length) == 0
                && libc::getsockname(socket, (&raw mut address).cast(), &raw mut length) == 0
        };
        if !done {
            return Err(Error::last_os_error());
        }
        Ok(Port { number: u16::from_be(address.sin_port), _bound: bound })
    }

    /// The port number.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Listens on the port instead of a server.
    ///
    /// # Errors
    /// If a server is listening.
    pub fn listen(&self) -> Result<TcpListener> {
        TcpListener::bind((Ipv4Addr::LOCALHOST, self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    #[test]
    fn port_stays_reserved_between_servers() {
        let (port, other) = (Port::reserve().unwrap(), Port::reserve().unwrap());
        assert_ne!(port.number(), other.number());
        for _ in 0..2 {
            let server = port.listen().unwrap();
            let client = TcpStream::connect((Ipv4Addr::LOCALHOST, port.number())).unwrap();
            assert!(port.listen().is_err(), "a second server must not listen");
            drop((server.accept().unwrap(), client));
        }
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port.number())).is_err());
    }
}
